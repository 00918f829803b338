#define _GNU_SOURCE

#include "AccountKitTPM.h"

#if !defined(ACCOUNTKIT_TPM)

int accountkit_tpm_seal(const char *device, const void *key, void *object, size_t *count, char *reason) {
    (void)device, (void)key, (void)object, (void)count, (void)reason;
    return ACCOUNTKIT_TPM_NOT_BUILT;
}

int accountkit_tpm_unseal(const char *device, const void *object, size_t count, void *key, char *reason) {
    (void)device, (void)object, (void)count, (void)key, (void)reason;
    return ACCOUNTKIT_TPM_NOT_BUILT;
}

#else

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>
#include <tss2/tss2_rc.h>
#include <tss2/tss2_tctildr.h>

// The template of the storage root key (TCG, "TCG TPM v2.0 Provisioning Guidance", 7.5.1). A different template creates
// a different primary key, which does not open the objects that were sealed before.
static const TPM2B_PUBLIC primary_template = {
    .publicArea =
        {
            .type = TPM2_ALG_ECC,
            .nameAlg = TPM2_ALG_SHA256,
            .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN |
                                TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA | TPMA_OBJECT_RESTRICTED |
                                TPMA_OBJECT_DECRYPT,
            .parameters.eccDetail =
                {
                    .symmetric = {.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB},
                    .scheme.scheme = TPM2_ALG_NULL,
                    .curveID = TPM2_ECC_NIST_P256,
                    .kdf.scheme = TPM2_ALG_NULL,
                },
            .unique.ecc = {.x.size = 32, .y.size = 32},
        },
};

// The object needs no password, so it is exempt from dictionary-attack protection. Otherwise, wrong passwords for other
// objects would lock it, too.
static const TPM2B_PUBLIC sealed_template = {
    .publicArea =
        {
            .type = TPM2_ALG_KEYEDHASH,
            .nameAlg = TPM2_ALG_SHA256,
            .objectAttributes =
                TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA,
            .parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL,
        },
};

static const TPM2B_DATA no_outside_info;
static const TPML_PCR_SELECTION no_registers;

// The libraries write their own messages to `stderr`, and can be silenced only with an environment variable, which other
// programs would inherit. Therefore, `stderr` is a stream without a destination while the lock is held.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *nowhere;

typedef struct {
    TSS2_TCTI_CONTEXT *connection;
    ESYS_CONTEXT *esys;
    ESYS_TR primary;
    ESYS_TR session;
    TPM2B_NAME name;
    TSS2_RC result;
} tpm_t;

static int refused(tpm_t *tpm, TSS2_RC result) {
    tpm->result = result;
    return ACCOUNTKIT_TPM_REFUSED;
}

static int open_connection(tpm_t *tpm, const char *device) {
    TSS2_RC result = Tss2_TctiLdr_Initialize(device, &tpm->connection);
    if (result == TSS2_RC_SUCCESS) result = Esys_Initialize(&tpm->esys, tpm->connection, NULL);
    tpm->result = result;
    return result == TSS2_RC_SUCCESS ? ACCOUNTKIT_TPM_DONE : ACCOUNTKIT_TPM_UNREACHABLE;
}

static int create_primary(tpm_t *tpm) {
    TPM2B_SENSITIVE_CREATE no_secret = {0};
    TSS2_RC result = Esys_CreatePrimary(tpm->esys, ESYS_TR_RH_OWNER, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, &no_secret,
                                        &primary_template, &no_outside_info, &no_registers, &tpm->primary, NULL, NULL, NULL,
                                        NULL);
    if (result != TSS2_RC_SUCCESS) return refused(tpm, result);
    TPM2B_NAME *name = NULL;
    result = Esys_TR_GetName(tpm->esys, tpm->primary, &name);
    if (result != TSS2_RC_SUCCESS) return refused(tpm, result);
    tpm->name = *name;
    Esys_Free(name);
    return ACCOUNTKIT_TPM_DONE;
}

// Starts a session that encrypts the key on its way to and from the chip. Only the TPM with this primary key can decrypt
// the salt of the session.
static int start_session(tpm_t *tpm) {
    TPMT_SYM_DEF cipher = {.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB};
    TSS2_RC result = Esys_StartAuthSession(tpm->esys, tpm->primary, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
                                           NULL, TPM2_SE_HMAC, &cipher, TPM2_ALG_SHA256, &tpm->session);
    if (result != TSS2_RC_SUCCESS) return refused(tpm, result);
    result = Esys_TRSess_SetAttributes(
        tpm->esys, tpm->session, TPMA_SESSION_CONTINUESESSION | TPMA_SESSION_DECRYPT | TPMA_SESSION_ENCRYPT, 0xff);
    return result == TSS2_RC_SUCCESS ? ACCOUNTKIT_TPM_DONE : refused(tpm, result);
}

static int seal(tpm_t *tpm, const uint8_t *key, uint8_t *object, size_t *count) {
    int status = create_primary(tpm);
    if (status == ACCOUNTKIT_TPM_DONE) status = start_session(tpm);
    if (status != ACCOUNTKIT_TPM_DONE) return status;

    TPM2B_SENSITIVE_CREATE secret = {.sensitive.data.size = ACCOUNTKIT_TPM_KEY_SIZE};
    memcpy(secret.sensitive.data.buffer, key, ACCOUNTKIT_TPM_KEY_SIZE);
    TPM2B_PRIVATE *private_part = NULL;
    TPM2B_PUBLIC *public_part = NULL;
    TSS2_RC result = Esys_Create(tpm->esys, tpm->primary, tpm->session, ESYS_TR_NONE, ESYS_TR_NONE, &secret, &sealed_template,
                                 &no_outside_info, &no_registers, &private_part, &public_part, NULL, NULL, NULL);
    explicit_bzero(&secret, sizeof secret);
    *count = 0;
    const size_t size = ACCOUNTKIT_TPM_OBJECT_SIZE;
    if (result == TSS2_RC_SUCCESS) result = Tss2_MU_TPM2B_NAME_Marshal(&tpm->name, object, size, count);
    if (result == TSS2_RC_SUCCESS) result = Tss2_MU_TPM2B_PUBLIC_Marshal(public_part, object, size, count);
    if (result == TSS2_RC_SUCCESS) result = Tss2_MU_TPM2B_PRIVATE_Marshal(private_part, object, size, count);
    Esys_Free(private_part);
    Esys_Free(public_part);
    return result == TSS2_RC_SUCCESS ? ACCOUNTKIT_TPM_DONE : refused(tpm, result);
}

static int unseal(tpm_t *tpm, const uint8_t *object, size_t count, uint8_t *key) {
    TPM2B_NAME name = {0};
    TPM2B_PUBLIC public_part = {0};
    TPM2B_PRIVATE private_part = {0};
    size_t offset = 0;
    TSS2_RC result = Tss2_MU_TPM2B_NAME_Unmarshal(object, count, &offset, &name);
    if (result == TSS2_RC_SUCCESS) result = Tss2_MU_TPM2B_PUBLIC_Unmarshal(object, count, &offset, &public_part);
    if (result == TSS2_RC_SUCCESS) result = Tss2_MU_TPM2B_PRIVATE_Unmarshal(object, count, &offset, &private_part);
    if (result != TSS2_RC_SUCCESS || offset != count) return ACCOUNTKIT_TPM_DAMAGED;

    int status = create_primary(tpm);
    if (status != ACCOUNTKIT_TPM_DONE) return status;
    if (name.size != tpm->name.size || memcmp(name.name, tpm->name.name, name.size) != 0) return ACCOUNTKIT_TPM_OTHER;
    status = start_session(tpm);
    if (status != ACCOUNTKIT_TPM_DONE) return status;

    ESYS_TR loaded = ESYS_TR_NONE;
    result = Esys_Load(
        tpm->esys, tpm->primary, tpm->session, ESYS_TR_NONE, ESYS_TR_NONE, &private_part, &public_part, &loaded);
    // The TPM rejects one of the two parameters.
    const TSS2_RC parameter = TPM2_RC_FMT1 | TPM2_RC_P;
    if ((result & parameter) == parameter) return ACCOUNTKIT_TPM_DAMAGED;
    if (result != TSS2_RC_SUCCESS) return refused(tpm, result);

    // The command has no parameter to encrypt.
    result = Esys_TRSess_SetAttributes(tpm->esys, tpm->session, 0, TPMA_SESSION_DECRYPT);
    TPM2B_SENSITIVE_DATA *secret = NULL;
    if (result == TSS2_RC_SUCCESS) {
        result = Esys_Unseal(tpm->esys, loaded, tpm->session, ESYS_TR_NONE, ESYS_TR_NONE, &secret);
    }
    Esys_FlushContext(tpm->esys, loaded);
    if (result != TSS2_RC_SUCCESS) return refused(tpm, result);
    status = secret->size == ACCOUNTKIT_TPM_KEY_SIZE ? ACCOUNTKIT_TPM_DONE : ACCOUNTKIT_TPM_DAMAGED;
    if (status == ACCOUNTKIT_TPM_DONE) memcpy(key, secret->buffer, ACCOUNTKIT_TPM_KEY_SIZE);
    explicit_bzero(secret, sizeof *secret);
    Esys_Free(secret);
    return status;
}

static void close_connection(tpm_t *tpm) {
    if (tpm->session != ESYS_TR_NONE) Esys_FlushContext(tpm->esys, tpm->session);
    if (tpm->primary != ESYS_TR_NONE) Esys_FlushContext(tpm->esys, tpm->primary);
    // The library frees its buffer for commands and responses, which may contain the key, without wiping it.
    TSS2_SYS_CONTEXT *buffer = NULL;
    if (tpm->esys && Esys_GetSysContext(tpm->esys, &buffer) == TSS2_RC_SUCCESS) {
        explicit_bzero(buffer, Tss2_Sys_GetContextSize(0));
    }
    if (tpm->esys) Esys_Finalize(&tpm->esys);
    if (tpm->connection) Tss2_TctiLdr_Finalize(&tpm->connection);
}

// The libraries also leave a copy of the key in local variables.
__attribute__((noinline)) static void wipe_unused_stack(void) {
    uint8_t unused[32 * 1024];
    explicit_bzero(unused, sizeof unused);
}

typedef struct {
    const uint8_t *sealed_key;
    uint8_t *unsealed_key;
    uint8_t *object;
    size_t *count;
} request_t;

static int run(const char *device, const request_t *request, char *reason) {
    pthread_mutex_lock(&lock);
    FILE *messages = stderr;
    if (!nowhere) nowhere = fopen("/dev/null", "we");
    if (nowhere) stderr = nowhere;
    tpm_t tpm = {.primary = ESYS_TR_NONE, .session = ESYS_TR_NONE};
    int status = open_connection(&tpm, device);
    if (status == ACCOUNTKIT_TPM_DONE) {
        status = request->sealed_key ? seal(&tpm, request->sealed_key, request->object, request->count)
                                     : unseal(&tpm, request->object, *request->count, request->unsealed_key);
    }
    snprintf(reason, ACCOUNTKIT_TPM_REASON_SIZE, "%s", tpm.result == TSS2_RC_SUCCESS ? "" : Tss2_RC_Decode(tpm.result));
    close_connection(&tpm);
    wipe_unused_stack();
    stderr = messages;
    pthread_mutex_unlock(&lock);
    return status;
}

int accountkit_tpm_seal(const char *device, const void *key, void *object, size_t *count, char *reason) {
    return run(device, &(request_t){.sealed_key = key, .object = object, .count = count}, reason);
}

int accountkit_tpm_unseal(const char *device, const void *object, size_t count, void *key, char *reason) {
    return run(device, &(request_t){.unsealed_key = key, .object = (void *)object, .count = &count}, reason);
}

#endif
