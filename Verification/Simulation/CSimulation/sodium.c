/*
 * Replaces the parts of libsodium that AccountKit uses, without any protection: sealing only copies, and memory is ordinary
 * memory. The life of a session does not depend on encryption, which would take most of the time.
 */
#include "internal.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static uint64_t mix(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

void simulation_seed_random_bytes(uint64_t seed) { state = seed; }

void randombytes_buf(void *const buffer, const size_t size) {
    for (size_t at = 0; at < size; at++) ((unsigned char *)buffer)[at] = (unsigned char)mix(++state);
}

void *sodium_malloc(const size_t size) { return malloc(size ? size : 1); }
void sodium_free(void *pointer) { free(pointer); }
int sodium_mprotect_readonly(void *pointer) { (void)pointer; return 0; }
int sodium_mprotect_readwrite(void *pointer) { (void)pointer; return 0; }

static uint64_t absorb(uint64_t sum, const unsigned char *bytes, size_t size) {
    for (size_t at = 0; at < size; at++) sum = (sum ^ bytes[at]) * 0x100000001B3u;
    return sum;
}

static void squeeze(uint64_t sum, unsigned char *out, size_t size) {
    for (size_t at = 0; at < size; at++) out[at] = (unsigned char)mix(sum + at);
}

int crypto_generichash_blake2b(unsigned char *out, size_t size, const unsigned char *in, unsigned long long count,
                               const unsigned char *key, size_t keySize) {
    squeeze(absorb(absorb(0xCBF29CE484222325u, key, keySize), in, count), out, size);
    return 0;
}

int crypto_generichash_blake2b_salt_personal(unsigned char *out, size_t size, const unsigned char *in,
                                             unsigned long long count, const unsigned char *key, size_t keySize,
                                             const unsigned char *salt, const unsigned char *personal) {
    (void)salt;
    uint64_t sum = absorb(0xCBF29CE484222325u, personal, crypto_generichash_blake2b_PERSONALBYTES);
    squeeze(absorb(absorb(sum, key, keySize), in, count), out, size);
    return 0;
}

static void seal(unsigned char *tag, const unsigned char *message, unsigned long long count, const unsigned char *data,
                 unsigned long long dataCount, const unsigned char *key) {
    uint64_t sum = absorb(0xCBF29CE484222325u, key, crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
    squeeze(absorb(absorb(sum, data, dataCount), message, count), tag, crypto_aead_xchacha20poly1305_ietf_ABYTES);
}

int crypto_aead_xchacha20poly1305_ietf_encrypt(unsigned char *out, unsigned long long *outCount,
                                               const unsigned char *message, unsigned long long count,
                                               const unsigned char *data, unsigned long long dataCount,
                                               const unsigned char *secret, const unsigned char *nonce,
                                               const unsigned char *key) {
    (void)secret;
    (void)nonce;
    seal(out + count, message, count, data, dataCount, key);
    memmove(out, message, count);
    if (outCount) *outCount = count + crypto_aead_xchacha20poly1305_ietf_ABYTES;
    return 0;
}

int crypto_aead_xchacha20poly1305_ietf_decrypt(unsigned char *out, unsigned long long *outCount, unsigned char *secret,
                                               const unsigned char *sealed, unsigned long long count,
                                               const unsigned char *data, unsigned long long dataCount,
                                               const unsigned char *nonce, const unsigned char *key) {
    (void)secret;
    (void)nonce;
    unsigned char tag[crypto_aead_xchacha20poly1305_ietf_ABYTES];
    if (count < sizeof tag) return -1;
    count -= sizeof tag;
    seal(tag, sealed, count, data, dataCount, key);
    if (memcmp(tag, sealed + count, sizeof tag)) return -1;
    memmove(out, sealed, count);
    if (outCount) *outCount = count;
    return 0;
}
