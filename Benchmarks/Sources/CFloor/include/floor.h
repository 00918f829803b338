// Reads or saves an account with the minimum of work: only system calls and libsodium.
//
// The code was written from the format's documentation (Sources/AccountKit/AccountKit.docc/ArchiveFormat.md), and shares no code with the
// package. It makes all checks that the documentation requires. Functions return NULL, or a description of the error.
#ifndef FLOOR_H
#define FLOOR_H

#include <stddef.h>

struct floor_account {
    // With the padding.
    unsigned char *plaintext;
    size_t padded_count;
    unsigned char data_key[32];
    unsigned char context[256];
    size_t context_count;
    const unsigned char *access_token;
    size_t access_token_count;
    // A binary property list.
    const unsigned char *record;
    size_t record_count;
};

// Reads, verifies and decrypts. Keeps key and plaintext in plain memory, which it wipes.
const char *floor_open(const char *archive_path, const char *key_path, const char *app, const char *session,
                       struct floor_account *account);

// Saves an opened account again, durably: acquires the lock, reads the file, encrypts the content with the next generation, and
// replaces the file.
const char *floor_change(const struct floor_account *account, const char *folder, const char *archive_path,
                         const char *lock_path);

void floor_close(struct floor_account *account);

// Returns a string at the top of the record, in UTF-8 with a terminating zero byte; empty if there is none.
const char *floor_string(const struct floor_account *account, const char *key, char *text, size_t text_size);

// Writes a file beside the old one and replaces the old one, durably: write, fsync, rename, fsync of the folder.
const char *floor_save(const char *folder, const char *path, const void *bytes, size_t count);

// Reads a whole file into memory from malloc.
const char *floor_read(const char *path, size_t limit, unsigned char **bytes, size_t *count);

#endif
