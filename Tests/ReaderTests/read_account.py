#!/usr/bin/env python3
"""Reads an account archive. It is written from the documentation page "The archive format" alone.

    read_account.py Account.plist --key Account.key --app com.example.gists [--session NAME] [--place PREFIX] [--reveal]

It shares no code with AccountKit: BLAKE2b is Python's, XChaCha20-Poly1305 and Argon2id are libsodium's. It prints the account
as JSON, and tokens only with --reveal. It checks the format and is an example for other languages. It does not protect its
memory.

Exit status: 0 read, 64 usage, 65 damaged, 66 a file cannot be read, 69 libsodium or memory is missing, 76 written by a later
version, 77 wrong key (or app, or session), changed content, or no slot for the key.
"""

import argparse
import base64
import ctypes
import ctypes.util
import datetime
import hashlib
import hmac
import json
import plistlib
import re
import struct
import sys

MAXIMUM_SIZE = 1024 * 1024
PADDING_BLOCK = 512
TAG_SIZE = 16
TOKENS = {1: "accessToken", 2: "refreshToken", 3: "idToken", 5: "clientSecret", 6: "proofKey"}
DERIVED_TOKEN = 4


class Refusal(Exception):
    """The reason why an archive cannot be read."""

    def __init__(self, message):
        super().__init__(message)


class Damaged(Refusal):
    status = 65


class Inaccessible(Refusal):
    status = 66


class Unavailable(Refusal):
    status = 69


class UnsupportedVersion(Refusal):
    status = 76


class WrongKeyOrDamaged(Refusal):
    status = 77

    def __init__(self):
        super().__init__("it does not open: wrong key, other app or session, or changed bytes")


class NoSlot(Refusal):
    status = 77

    def __init__(self):
        super().__init__("it has no slot for such a key")


# --- Cryptography


def load_sodium():
    for name in ("libsodium.so.23", "libsodium.so.26", "libsodium.dylib", ctypes.util.find_library("sodium")):
        try:
            library = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if library and library.sodium_init() >= 0:
            return library
    raise Unavailable("libsodium is not installed")


SODIUM = None


def sodium():
    global SODIUM
    SODIUM = SODIUM or load_sodium()
    return SODIUM


def blake2b(key, message):
    return hashlib.blake2b(message, key=key, digest_size=32).digest()


def derive(key, message, personal):
    """Two keys of 32 bytes."""
    keys = hashlib.blake2b(message, key=key, digest_size=64, person=personal.ljust(16, b"\0")).digest()
    return keys[:32], keys[32:]


def open_sealed(key, nonce, ciphertext, additional_data):
    plaintext = ctypes.create_string_buffer(max(len(ciphertext) - TAG_SIZE, 1))
    status = sodium().crypto_aead_xchacha20poly1305_ietf_decrypt(
        plaintext, None, None, ciphertext, ctypes.c_ulonglong(len(ciphertext)),
        additional_data, ctypes.c_ulonglong(len(additional_data)), nonce, key)
    if status != 0:
        raise WrongKeyOrDamaged()
    return plaintext.raw[:len(ciphertext) - TAG_SIZE]


def argon2id(passphrase, salt, passes, memory_kib):
    key = ctypes.create_string_buffer(32)
    status = sodium().crypto_pwhash(
        key, ctypes.c_ulonglong(32), passphrase, ctypes.c_ulonglong(len(passphrase)), salt,
        ctypes.c_ulonglong(passes), ctypes.c_size_t(memory_kib * 1024), sodium().crypto_pwhash_alg_argon2id13())
    if status != 0:
        raise Unavailable("there is not enough memory for the passphrase")
    return key.raw


def lp(data):
    return struct.pack("<I", len(data)) + data


# --- The layers, from the outside in


def property_list(envelope):
    """The bytes of the file around an envelope."""
    objects = (
        bytes([0xD3, 1, 2, 3, 4, 5, 6]), b"\x56format", b"\x57version", b"\x56sealed",
        b"\x5F\x10\x12AccountKit archive", b"\x10\x01", b"\x4F\x12" + struct.pack(">I", len(envelope)) + envelope)
    offsets, position = [], 8
    for item in objects:
        offsets.append(position)
        position += len(item)
    trailer = bytes(6) + bytes([4, 1]) + struct.pack(">QQQ", len(objects), 0, position)
    return b"bplist00" + b"".join(objects) + struct.pack(">7I", *offsets) + trailer


def envelope_in(file):
    if len(file) > MAXIMUM_SIZE:
        raise Damaged("it has more than 1 MiB")
    if not file.startswith(b"bplist00"):
        raise Damaged("it is not a binary property list")
    if file[:59] == property_list(b"")[:59] and len(file) > 59 and file[59] != 1:
        raise UnsupportedVersion(f"archive version {file[59]}")
    try:
        # Read like any property list. Whether these are the exact bytes is checked below.
        content = plistlib.loads(file, fmt=plistlib.FMT_BINARY)
        envelope = content["sealed"]
    except Exception as error:
        raise Damaged("it is not a whole property list of an archive") from error
    if not isinstance(envelope, bytes) or property_list(envelope) != file:
        raise Damaged("it is not an account archive, or its bytes were changed")
    return envelope


class Slot:
    def __init__(self, data):
        (self.type, algorithm, reserved, self.created, self.key_id, self.passes, self.memory_kib, self.salt, self.nonce,
         self.wrapped_key, self.commitment, zero) = struct.unpack("<BBHI16sII16s24s48s32sQ", data)
        self.data = data
        if self.type not in (1, 2, 3, 4):
            raise UnsupportedVersion(f"key slot type {self.type}")
        if algorithm != 1:
            raise UnsupportedVersion(f"key slot algorithm {algorithm}")
        if reserved or zero:
            raise UnsupportedVersion("reserved bytes of a key slot")
        if self.type == 2:
            if not (1 <= self.passes <= 10 and 8192 <= self.memory_kib <= 1048576):
                raise UnsupportedVersion(f"passphrase cost of {self.passes} passes over {self.memory_kib} KiB")
        elif self.passes or self.memory_kib:
            raise Damaged("a key slot without a passphrase has a cost")

    def data_key(self, key, store_id, context):
        wrap_key, commit_key = derive(key, store_id + bytes([self.type]) + self.salt, b"acct.v1.slot")
        commitment = blake2b(commit_key, lp(context) + store_id + self.data[:120])
        if not hmac.compare_digest(commitment, self.commitment):
            raise WrongKeyOrDamaged()
        return open_sealed(wrap_key, self.nonce, self.wrapped_key, context + store_id + self.data[:72])


class Envelope:
    def __init__(self, data):
        if not data.startswith(b"ACCT\r\n\x1a\n"):
            raise Damaged("it does not begin with the magic number of an envelope")
        if len(data) < 128:
            raise Damaged("its header is truncated")
        (version, suite, flags, header_length, ciphertext_length, slot_count, reserved, self.generation, self.store_id,
         self.data_key_id, self.salt, self.nonce, zero) = struct.unpack("<HBBIIHHQ16s16s32s24sQ", data[8:128])
        if version != 1:
            raise UnsupportedVersion(f"envelope version {version}")
        if suite != 1:
            raise UnsupportedVersion(f"suite {suite}")
        if flags not in (0, 1):
            raise UnsupportedVersion(f"flags {flags}")
        self.is_bound = flags == 1
        if reserved or zero:
            raise UnsupportedVersion("reserved bytes of the header")
        if not 1 <= slot_count <= 8:
            raise Damaged(f"it has {slot_count} key slots")
        if header_length != 128 + 160 * slot_count:
            raise Damaged("its header length is wrong")
        if len(data) != header_length + ciphertext_length + 32:
            raise Damaged("its length is wrong")
        if ciphertext_length < PADDING_BLOCK + TAG_SIZE or (ciphertext_length - TAG_SIZE) % PADDING_BLOCK:
            raise Damaged("its ciphertext length is not valid")
        self.prefix = data[:header_length]
        self.slots = [Slot(data[start:start + 160]) for start in range(128, header_length, 160)]
        self.ciphertext = data[header_length:header_length + ciphertext_length]
        self.commitment = data[header_length + ciphertext_length:]

    def data_key(self, context, key=None, passphrase=None):
        """The data key, from the first slot that opens."""
        candidates = [slot for slot in self.slots if (slot.type == 2) == (key is None)]
        if not candidates:
            raise NoSlot()
        for slot in candidates:
            try:
                slot_key = argon2id(passphrase, slot.salt, slot.passes, slot.memory_kib) if key is None else key
                return slot.data_key(slot_key, self.store_id, context)
            except WrongKeyOrDamaged:
                continue
        raise WrongKeyOrDamaged()

    def plaintext(self, data_key, context, place=None):
        if self.is_bound != (place is not None):
            raise WrongKeyOrDamaged()
        if place is not None:
            context += lp(place.encode())
        encryption_key, commit_key = derive(data_key, self.salt + self.store_id + self.data_key_id, b"acct.v1.file")
        commitment = blake2b(commit_key, lp(self.prefix) + lp(context) + lp(self.nonce + self.ciphertext))
        if not hmac.compare_digest(commitment, self.commitment):
            raise WrongKeyOrDamaged()
        return unpad(open_sealed(encryption_key, self.nonce, self.ciphertext, self.prefix + context))


def unpad(padded):
    content = padded.rstrip(b"\0")
    if not content.endswith(b"\x80") or len(padded) - len(content) >= PADDING_BLOCK:
        raise Damaged("its padding is not valid")
    return content[:-1]


def section(data, offset):
    """The section after its length, and the offset of its end."""
    if len(data) - offset < 4:
        raise Damaged("its plaintext is truncated")
    (length,) = struct.unpack_from("<I", data, offset)
    if length > len(data) - offset - 4:
        raise Damaged("its plaintext is truncated")
    end = offset + 4 + length
    return data[offset + 4:end], end


def account_in(plaintext):
    """The record as a dictionary, and the tokens by name. The derived tokens are a list."""
    secrets, end = section(plaintext, 0)
    record, end = section(plaintext, end)
    if end != len(plaintext):
        raise Damaged("there is more in it than an account")
    tokens, derived, offset = {}, [], 0
    while offset < len(secrets):
        if len(secrets) - offset < 4:
            raise Damaged("its plaintext is truncated")
        tag, reserved = struct.unpack_from("<HH", secrets, offset)
        if reserved or tag != DERIVED_TOKEN and tag not in TOKENS:
            raise UnsupportedVersion(f"token tag {tag}, {reserved}")
        if tag == DERIVED_TOKEN:
            token, offset = section(secrets, offset + 4)
            derived.append(token)
            continue
        if TOKENS[tag] in tokens:
            raise Damaged("it contains a token twice")
        tokens[TOKENS[tag]], offset = section(secrets, offset + 4)
    try:
        account = plistlib.loads(record, fmt=plistlib.FMT_BINARY)
    except Exception as error:
        raise Damaged("its record is not a property list") from error
    required = {"id": str, "tokenType": str, "issuedAt": datetime.datetime}
    if "accessToken" not in tokens or not isinstance(account, dict) or not all(
            isinstance(account.get(name), kind) for name, kind in required.items()):
        raise Damaged("it does not contain an account")
    account = unescaped(account)
    records = account.get("derivedTokens", [])
    if not isinstance(records, list) or len(records) != len(derived) or not all(
            isinstance(record, dict) and isinstance(record.get("tokenType"), str)
            and isinstance(record.get("issuedAt"), datetime.datetime) for record in records):
        raise Damaged("its derived tokens do not match their descriptions")
    if derived:
        tokens["derivedTokens"] = derived
    return account, tokens


def unescaped(value):
    """A value without the additional dollar sign of strings such as "$null"."""
    if isinstance(value, str):
        return value[1:] if re.fullmatch(r"\$\$+null", value) else value
    if isinstance(value, list):
        return [unescaped(item) for item in value]
    if isinstance(value, dict):
        return {unescaped(name): unescaped(item) for name, item in value.items()}
    return value


def context_of(app, session):
    return lp(b"AccountKit/1") + lp(app.encode()) + lp(session.encode())


def read(file, context, key=None, passphrase=None, place=None):
    """The account in the bytes of a file, its tokens, and the envelope."""
    envelope = Envelope(envelope_in(file))
    data_key = envelope.data_key(context, key, passphrase)
    account, tokens = account_in(envelope.plaintext(data_key, context, place))
    return account, tokens, envelope


# --- The command


def in_json(value):
    if isinstance(value, datetime.datetime):
        return value.isoformat() + "Z"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"a {type(value)} in a property list")


def shown(token, name=None):
    if name == "proofKey":
        return base64.b64encode(token).decode()
    return [shown(one) for one in token] if isinstance(token, list) else token.decode(errors="replace")


def read_file(path, limit):
    try:
        with open(path, "rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise Inaccessible(f"{path}: {error.strerror}") from error


class ArgumentParser(argparse.ArgumentParser):
    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(64, f"{self.prog}: {message}\n")


def main():
    parser = ArgumentParser(description="Reads an account archive.")
    parser.add_argument("archive", help="Account.plist")
    parser.add_argument("--app", required=True, metavar="IDENTIFIER", help="the app identifier")
    parser.add_argument("--session", default="default", metavar="NAME", help="the session (default: default)")
    parser.add_argument("--place", metavar="PREFIX", help="the prefix in the etcd cluster that the archive is from")
    opener = parser.add_mutually_exclusive_group(required=True)
    opener.add_argument("--key", metavar="FILE", help="a file with the 32 bytes of the key")
    opener.add_argument("--passphrase-stdin", action="store_true", help="read a passphrase, up to the first line break")
    parser.add_argument("--reveal", action="store_true", help="show the tokens")
    arguments = parser.parse_args()
    try:
        file = read_file(arguments.archive, MAXIMUM_SIZE)
        key = passphrase = None
        if arguments.key:
            key = read_file(arguments.key, 32)
            if len(key) != 32:
                raise Inaccessible(f"{arguments.key}: a key has 32 bytes")
        else:
            passphrase = sys.stdin.buffer.readline().rstrip(b"\r\n")
        context = context_of(arguments.app, arguments.session)
        account, tokens, envelope = read(file, context, key, passphrase, arguments.place)
    except Refusal as refusal:
        print(f"{parser.prog}: {arguments.archive}: {refusal}", file=sys.stderr)
        return refusal.status
    account["generation"] = envelope.generation
    if arguments.reveal:
        account["tokens"] = {name: shown(token, name) for name, token in tokens.items()}
    json.dump(account, sys.stdout, default=in_json, indent=2, sort_keys=True)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
