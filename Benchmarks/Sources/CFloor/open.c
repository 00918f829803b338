#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_LIMIT = 1 << 20, BEFORE = 66, AFTER = 60, HEADER = 128, SLOT = 160, TAG = 16, COMMITMENT = 32, BLOCK = 512,
       ADDITIONAL = HEADER + 8 * SLOT + 256 };

static uint32_t number32(const unsigned char *bytes) {
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void put_number32(unsigned char *bytes, uint32_t number) {
    for (int i = 0; i < 4; i++) bytes[i] = number >> 8 * i;
}

static void put_big(unsigned char *bytes, uint64_t number, int count) {
    for (int i = 0; i < count; i++) bytes[i] = number >> 8 * (count - 1 - i);
}

const char *floor_read(const char *path, size_t limit, unsigned char **bytes, size_t *count) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return strerror(errno);
    const char *error = NULL;
    struct stat status;
    *bytes = NULL;
    *count = 0;
    if (fstat(file, &status) < 0) {
        error = strerror(errno);
    } else if (!S_ISREG(status.st_mode) || (size_t)status.st_size > limit) {
        error = "not a file, or too large";
    } else if (!(*bytes = malloc(status.st_size + 1))) {
        error = strerror(errno);
    }
    while (!error) {
        // One byte more than expected, to detect the end.
        ssize_t got = read(file, *bytes + *count, status.st_size + 1 - *count);
        if (got == 0) break;
        if (got < 0) error = strerror(errno);
        else if ((*count += got) > (size_t)status.st_size) error = "it grew while it was read";
    }
    close(file);
    if (error) {
        free(*bytes);
        *bytes = NULL;
    }
    return error;
}

// Checks the bytes around the envelope, which are constant except for its length.
static bool is_property_list(const unsigned char *file, size_t count) {
    static const unsigned char before[] = "bplist00\xD3\x01\x02\x03\x04\x05\x06\x56" "format\x57version\x56sealed"
                                          "\x5F\x10\x12" "AccountKit archive\x10\x01\x4F\x12";
    static const uint32_t offsets[] = {8, 15, 22, 30, 37, 58, 60};
    if (count < BEFORE + AFTER || memcmp(file, before, BEFORE - 4) != 0) return false;
    size_t envelope = count - BEFORE - AFTER;
    unsigned char length[4], after[AFTER];
    put_big(length, envelope, 4);
    for (int i = 0; i < 7; i++) put_big(after + 4 * i, offsets[i], 4);
    put_big(after + 28, 0x0401, 8);
    put_big(after + 36, 7, 8);
    put_big(after + 44, 0, 8);
    put_big(after + 52, BEFORE + envelope, 8);
    return memcmp(file + BEFORE - 4, length, 4) == 0 && memcmp(file + BEFORE + envelope, after, AFTER) == 0;
}

static bool is_zero(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i]) return false;
    return true;
}

static bool is_envelope(const unsigned char *envelope, size_t count) {
    if (count < HEADER || memcmp(envelope, "ACCT\r\n\x1a\n\x01\x00\x01\x00", 12) != 0) return false;
    size_t header = number32(envelope + 12), ciphertext = number32(envelope + 16);
    size_t slots = envelope[20] | envelope[21] << 8;
    if (slots < 1 || slots > 8 || !is_zero(envelope + 22, 2) || !is_zero(envelope + 120, 8)) return false;
    if (header != HEADER + SLOT * slots || ciphertext < BLOCK + TAG || (ciphertext - TAG) % BLOCK) return false;
    if (count != header + ciphertext + COMMITMENT) return false;
    for (size_t i = 0; i < slots; i++) {
        const unsigned char *slot = envelope + HEADER + SLOT * i;
        if (slot[0] < 1 || slot[0] > 4 || slot[1] != 1 || !is_zero(slot + 2, 2) || !is_zero(slot + 152, 8)) return false;
        if (slot[0] != 2 && !is_zero(slot + 24, 8)) return false;
    }
    return true;
}

static void derive(unsigned char keys[64], const unsigned char key[32], const unsigned char *message, size_t count,
                   const char *name) {
    unsigned char personal[crypto_generichash_blake2b_PERSONALBYTES] = {0};
    memcpy(personal, name, strlen(name));
    crypto_generichash_blake2b_salt_personal(keys, 64, message, count, key, 32, NULL, personal);
}

static void update_prefixed(crypto_generichash_blake2b_state *state, const unsigned char *bytes, size_t count) {
    unsigned char length[4];
    put_number32(length, count);
    crypto_generichash_blake2b_update(state, length, 4);
    crypto_generichash_blake2b_update(state, bytes, count);
}

static size_t put_prefixed(unsigned char *bytes, const char *text) {
    put_number32(bytes, strlen(text));
    memcpy(bytes + 4, text, strlen(text));
    return 4 + strlen(text);
}

static bool unwrap(unsigned char data_key[32], const unsigned char *slot, const unsigned char *store_id,
                   const unsigned char key[32], const unsigned char *context, size_t context_count) {
    unsigned char keys[64], message[33], commitment[32], additional[512];
    memcpy(message, store_id, 16);
    message[16] = slot[0];
    memcpy(message + 17, slot + 32, 16);
    derive(keys, key, message, 33, "acct.v1.slot");

    crypto_generichash_blake2b_state state;
    crypto_generichash_blake2b_init(&state, keys + 32, 32, 32);
    update_prefixed(&state, context, context_count);
    crypto_generichash_blake2b_update(&state, store_id, 16);
    crypto_generichash_blake2b_update(&state, slot, 120);
    crypto_generichash_blake2b_final(&state, commitment, 32);
    bool opened = sodium_memcmp(commitment, slot + 120, 32) == 0;
    if (opened) {
        memcpy(additional, context, context_count);
        memcpy(additional + context_count, store_id, 16);
        memcpy(additional + context_count + 16, slot, 72);
        opened = crypto_aead_xchacha20poly1305_ietf_decrypt(data_key, NULL, NULL, slot + 72, 48, additional,
                                                            context_count + 88, slot + 48, keys) == 0;
    }
    sodium_memzero(keys, sizeof keys);
    sodium_memzero(&state, sizeof state);
    return opened;
}

// Derives the encryption key and the key of the commitment from the data key and the header.
static void file_keys(unsigned char keys[64], const unsigned char *envelope, const unsigned char data_key[32]) {
    unsigned char message[64];
    memcpy(message, envelope + 64, 32);
    memcpy(message + 32, envelope + 32, 32);
    derive(keys, data_key, message, 64, "acct.v1.file");
}

static void file_commitment(unsigned char commitment[32], const unsigned char keys[64], const unsigned char *envelope,
                            const struct floor_account *account) {
    size_t header = number32(envelope + 12), ciphertext = number32(envelope + 16);
    crypto_generichash_blake2b_state state;
    unsigned char length[4];
    crypto_generichash_blake2b_init(&state, keys + 32, 32, 32);
    update_prefixed(&state, envelope, header);
    update_prefixed(&state, account->context, account->context_count);
    put_number32(length, 24 + ciphertext);
    crypto_generichash_blake2b_update(&state, length, 4);
    crypto_generichash_blake2b_update(&state, envelope + 96, 24);
    crypto_generichash_blake2b_update(&state, envelope + header, ciphertext);
    crypto_generichash_blake2b_final(&state, commitment, 32);
    sodium_memzero(&state, sizeof state);
}

static size_t put_additional(unsigned char *bytes, const unsigned char *envelope, const struct floor_account *account) {
    size_t header = number32(envelope + 12);
    memcpy(bytes, envelope, header);
    memcpy(bytes + header, account->context, account->context_count);
    return header + account->context_count;
}

// Verifies and decrypts the data after the slots, into the plaintext of the account.
static bool decrypt(struct floor_account *account, const unsigned char *envelope) {
    size_t header = number32(envelope + 12), ciphertext = number32(envelope + 16);
    unsigned char keys[64], commitment[32], additional[ADDITIONAL];
    file_keys(keys, envelope, account->data_key);
    file_commitment(commitment, keys, envelope, account);
    bool opened = sodium_memcmp(commitment, envelope + header + ciphertext, 32) == 0;
    if (opened) {
        size_t count = put_additional(additional, envelope, account);
        opened = crypto_aead_xchacha20poly1305_ietf_decrypt(account->plaintext, NULL, NULL, envelope + header,
                                                            ciphertext, additional, count, envelope + 96, keys) == 0;
    }
    sodium_memzero(keys, sizeof keys);
    return opened;
}

// Encrypts the plaintext again, with the next generation, a new salt and a new nonce.
static void seal_again(const struct floor_account *account, unsigned char *envelope) {
    size_t header = number32(envelope + 12), ciphertext = number32(envelope + 16);
    unsigned char keys[64], additional[ADDITIONAL];
    for (int i = 24; i < 32 && ++envelope[i] == 0; i++) {
    }
    randombytes_buf(envelope + 64, 32 + 24);
    file_keys(keys, envelope, account->data_key);
    size_t count = put_additional(additional, envelope, account);
    crypto_aead_xchacha20poly1305_ietf_encrypt(envelope + header, NULL, account->plaintext, account->padded_count,
                                               additional, count, NULL, envelope + 96, keys);
    file_commitment(envelope + header + ciphertext, keys, envelope, account);
    sodium_memzero(keys, sizeof keys);
}

// Finds the access token and the record.
static bool read_sections(struct floor_account *account, size_t count) {
    const unsigned char *bytes = account->plaintext;
    if (count < 8) return false;
    size_t secrets = number32(bytes);
    if (secrets > count - 8) return false;
    uint32_t last_tag = 0;
    for (size_t offset = 4; offset < 4 + secrets;) {
        if (4 + secrets - offset < 8) return false;
        uint32_t tag = number32(bytes + offset), length = number32(bytes + offset + 4);
        if (tag <= last_tag || tag > 3 || length > 4 + secrets - offset - 8) return false;
        if (tag == 1) {
            account->access_token = bytes + offset + 8;
            account->access_token_count = length;
        }
        last_tag = tag;
        offset += 8 + length;
    }
    account->record_count = number32(bytes + 4 + secrets);
    account->record = bytes + 8 + secrets;
    return account->access_token && account->record_count == count - 8 - secrets;
}

static const char *read_key(const char *path, unsigned char *key) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return strerror(errno);
    ssize_t got = read(file, key, 33);
    close(file);
    return got == 32 ? NULL : "the key file does not have 32 bytes";
}

static const char *const unreadable = "the archive does not open";

// Reads the file of an archive, and checks everything that needs no key.
static const char *read_archive(const char *path, unsigned char **file, size_t *count) {
    const char *error = floor_read(path, FILE_LIMIT, file, count);
    if (error) return error;
    if (is_property_list(*file, *count) && is_envelope(*file + BEFORE, *count - BEFORE - AFTER)) return NULL;
    free(*file);
    return unreadable;
}

const char *floor_open(const char *archive_path, const char *key_path, const char *app, const char *session,
                       struct floor_account *account) {
    memset(account, 0, sizeof *account);
    if (sodium_init() < 0) return "libsodium does not start";
    if (strlen(app) > 128 || strlen(session) > 64) return "a name is too long";
    account->context_count = put_prefixed(account->context, "AccountKit/1");
    account->context_count += put_prefixed(account->context + account->context_count, app);
    account->context_count += put_prefixed(account->context + account->context_count, session);

    unsigned char *file = NULL, key[33];
    size_t count = 0, unpadded = 0;
    const char *error = read_archive(archive_path, &file, &count);
    if (error) return error;
    const unsigned char *envelope = file + BEFORE;
    account->padded_count = number32(envelope + 16) - TAG;
    account->plaintext = malloc(account->padded_count);
    error = account->plaintext ? read_key(key_path, key) : strerror(ENOMEM);
    if (!error) {
        error = unreadable;
        size_t slots = envelope[20];
        for (size_t i = 0; i < slots && error; i++) {
            const unsigned char *slot = envelope + HEADER + SLOT * i;
            if (slot[0] == 1
                && unwrap(account->data_key, slot, envelope + 32, key, account->context, account->context_count))
                error = NULL;
        }
    }
    if (!error
        && (!decrypt(account, envelope)
            || sodium_unpad(&unpadded, account->plaintext, account->padded_count, BLOCK) != 0
            || !read_sections(account, unpadded)))
        error = unreadable;
    sodium_memzero(key, sizeof key);
    free(file);
    if (error) floor_close(account);
    return error;
}

const char *floor_change(const struct floor_account *account, const char *folder, const char *archive_path,
                         const char *lock_path) {
    int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0) return strerror(errno);
    unsigned char *file = NULL;
    size_t count = 0;
    const char *error = flock(lock, LOCK_EX) < 0 ? strerror(errno) : read_archive(archive_path, &file, &count);
    if (!error) {
        if (number32(file + BEFORE + 16) == account->padded_count + TAG) {
            seal_again(account, file + BEFORE);
            error = floor_save(folder, archive_path, file, count);
        } else {
            error = "the archive has another size now";
        }
        free(file);
    }
    close(lock);
    return error;
}

void floor_close(struct floor_account *account) {
    if (account->plaintext) sodium_memzero(account->plaintext, account->padded_count);
    free(account->plaintext);
    sodium_memzero(account, sizeof *account);
}
