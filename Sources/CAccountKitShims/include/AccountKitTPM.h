// A key that a TPM 2.0 seals (TCG, "Trusted Platform Module Library", revision 1.59). Without the package trait TPM, both
// functions return `ACCOUNTKIT_TPM_NOT_BUILT`.
#ifndef ACCOUNTKIT_TPM_H
#define ACCOUNTKIT_TPM_H

#include <stddef.h>

enum {
    ACCOUNTKIT_TPM_DONE,
    ACCOUNTKIT_TPM_NOT_BUILT,
    ACCOUNTKIT_TPM_UNREACHABLE,
    ACCOUNTKIT_TPM_REFUSED,

    /// A different TPM sealed the key, or the TPM was cleared after it sealed the key.
    ACCOUNTKIT_TPM_OTHER,
    ACCOUNTKIT_TPM_DAMAGED,
};

enum { ACCOUNTKIT_TPM_KEY_SIZE = 32, ACCOUNTKIT_TPM_OBJECT_SIZE = 1024, ACCOUNTKIT_TPM_REASON_SIZE = 160 };

/// Seals a key of 32 bytes, and writes at most `ACCOUNTKIT_TPM_OBJECT_SIZE` bytes to `object`: the name of the primary
/// key, and the public and the private part of the sealed object (TPM2B_NAME, TPM2B_PUBLIC and TPM2B_PRIVATE).
///
/// `device` is a TCTI in the syntax of tpm2-tools, such as `device:/dev/tpmrm0`. If the TPM is unreachable or refuses a
/// command, `reason` receives a text of at most `ACCOUNTKIT_TPM_REASON_SIZE` bytes.
int accountkit_tpm_seal(const char *device, const void *key, void *object, size_t *count, char *reason);

/// Unseals a key of 32 bytes. `object` is what `accountkit_tpm_seal` wrote.
int accountkit_tpm_unseal(const char *device, const void *object, size_t count, void *key, char *reason);

#endif
