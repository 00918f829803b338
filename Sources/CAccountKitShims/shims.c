#define _GNU_SOURCE

#include "CAccountKitShims.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <elf.h>
#include <nss.h>
#include <sys/auxv.h>
#endif

#ifdef __linux__
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t opening;
    int is_open;
};

static void *wait_at(void *pointer) {
    struct gate *gate = pointer;
    pthread_mutex_lock(&gate->mutex);
    while (!gate->is_open) pthread_cond_wait(&gate->opening, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
    return NULL;
}

int accountkit_can_start_threads(int count) {
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    pthread_attr_t attributes;
    pthread_t *threads = calloc(count > 0 ? (size_t)count : 1, sizeof *threads);
    if (!threads || pthread_attr_init(&attributes) != 0) {
        free(threads);
        return 0;
    }
    // The threads use little of their stacks. If the address space is limited, they need as much of it as other threads.
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) {
        pthread_attr_setstacksize(&attributes, 1 << 16);
    }
    // New threads inherit the mask, so no signal is delivered to them.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int started = 0;
    while (started < count && pthread_create(&threads[started], &attributes, wait_at, &gate) == 0) started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_lock(&gate.mutex);
    gate.is_open = 1;
    pthread_cond_broadcast(&gate.opening);
    pthread_mutex_unlock(&gate.mutex);
    for (int thread = 0; thread < started; thread++) pthread_join(threads[thread], NULL);
    pthread_attr_destroy(&attributes);
    pthread_cond_destroy(&gate.opening);
    pthread_mutex_destroy(&gate.mutex);
    free(threads);
    return started == count;
}

int accountkit_can_open_files(int count) {
    int *files = calloc(count > 0 ? (size_t)count : 1, sizeof *files);
    if (!files) return 0;
    int opened = 0, code = 0;
    // A further descriptor for an open file needs no path and no device.
    while (opened < count && code == 0) {
        files[opened] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
        if (files[opened] < 0) {
            code = errno;
        } else {
            opened++;
        }
    }
    for (int file = 0; file < opened; file++) close(files[file]);
    free(files);
    // Without standard error, nothing is known.
    return opened == count || code == EBADF;
}

#ifdef F_OFD_SETLK
static int set_lock(int descriptor, short type) {
    struct flock lock;
    memset(&lock, 0, sizeof(lock));
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return fcntl(descriptor, F_OFD_SETLK, &lock);
}

int accountkit_try_lock(int descriptor) { return set_lock(descriptor, F_WRLCK); }

int accountkit_try_shared_lock(int descriptor) { return set_lock(descriptor, F_RDLCK); }

void accountkit_unlock(int descriptor) { set_lock(descriptor, F_UNLCK); }
#else
extern int flock(int, int);

int accountkit_try_lock(int descriptor) { return flock(descriptor, 2 /* LOCK_EX */ | 4 /* LOCK_NB */); }

int accountkit_try_shared_lock(int descriptor) { return flock(descriptor, 1 /* LOCK_SH */ | 4 /* LOCK_NB */); }

void accountkit_unlock(int descriptor) { flock(descriptor, 8 /* LOCK_UN */); }
#endif

int accountkit_reserve(int descriptor, off_t length) {
#ifdef __linux__
    if (fallocate(descriptor, 0, 0, length) == 0) return 0;
    return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : errno;
#else
    (void)descriptor;
    (void)length;
    return 0;
#endif
}

int accountkit_sync(int descriptor) {
#ifdef F_FULLFSYNC
    if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
    if (errno != ENOTSUP) return -1;
#endif
    return fsync(descriptor);
}

int accountkit_forbid_dumps(void) {
#ifdef __linux__
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#else
    return 0;
#endif
}

static int is_hidden(const char *entry, char *const hidden[]) {
    for (; *hidden != NULL; hidden++) {
        size_t length = strlen(*hidden);
        if (strncmp(entry, *hidden, length) == 0 && entry[length] == '=') return 1;
    }
    return 0;
}

int accountkit_spawn(char *const arguments[], char *const hidden[], int input, int output, pid_t *process) {
    extern char **environ;
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL) count++;
    char **environment = malloc((count + 1) * sizeof *environment);
    if (environment == NULL) return ENOMEM;
    size_t kept = 0;
    for (size_t index = 0; index < count; index++) {
        if (!is_hidden(environ[index], hidden)) environment[kept++] = environ[index];
    }
    environment[kept] = NULL;
    posix_spawn_file_actions_t actions;
    int status = posix_spawn_file_actions_init(&actions);
    if (status != 0) {
        free(environment);
        return status;
    }
    posix_spawnattr_t attributes;
    status = posix_spawnattr_init(&attributes);
    if (status == 0) {
        // Start the program with the default signal handling, even for signals that this process holds back or ignores.
        sigset_t none, usual;
        sigemptyset(&none);
        sigfillset(&usual);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &usual);
        short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
#ifdef POSIX_SPAWN_SETSID
        // A program without output must not use the terminal either, such as a text browser that opens /dev/tty.
        if (output < 0) flags |= POSIX_SPAWN_SETSID;
#endif
        posix_spawnattr_setflags(&attributes, flags);
        status = input >= 0 ? posix_spawn_file_actions_adddup2(&actions, input, 0)
                            : posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        if (status == 0 && output >= 0) status = posix_spawn_file_actions_adddup2(&actions, output, 1);
        for (int discarded = 1; status == 0 && output < 0 && discarded <= 2; discarded++)
            status = posix_spawn_file_actions_addopen(&actions, discarded, "/dev/null", O_WRONLY, 0);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
        // Close descriptors without O_CLOEXEC, such as connections and pipes of other code.
        if (status == 0) status = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
        if (status == 0) status = posix_spawnp(process, arguments[0], &actions, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return status;
}

int accountkit_become(char *const arguments[], char *const hidden[], char *const additions[]) {
    extern char **environ;
    size_t count = 0, added = 0;
    while (environ != NULL && environ[count] != NULL) count++;
    while (additions[added] != NULL) added++;
    char **environment = malloc((count + added + 1) * sizeof *environment);
    if (environment == NULL) return ENOMEM;
    size_t kept = 0;
    for (size_t index = 0; index < count; index++) {
        if (!is_hidden(environ[index], hidden)) environment[kept++] = environ[index];
    }
    for (size_t index = 0; index < added; index++) environment[kept++] = additions[index];
    environment[kept] = NULL;
    accountkit_signals_restore_inherited();
    environ = environment;
    execvp(arguments[0], arguments);
    return errno;
}

void accountkit_open_standard_streams(void) {
    // Standard output gets no end that can be written: a result that nothing receives must remain an error.
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int descriptor = 0; descriptor <= 2; descriptor += 1) {
        if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
        // The system returns the lowest free descriptor. A root folder without /dev has at least itself.
        if (open("/dev/null", modes[descriptor]) < 0) open("/", O_RDONLY);
    }
}

int accountkit_pipe(int ends[2]) {
#ifdef __linux__
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
#else
    if (pipe(ends) != 0) return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
#endif
    return fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

#ifdef __linux__
// KEY_USR_ALL of libkeyutils: view, read, write, search, link and set attributes, for the user who owns the key.
static const unsigned long owner_only = 0x003f0000;
#endif

int accountkit_keyring_put(const char *name, const void *bytes, size_t count, unsigned int seconds) {
#ifdef __linux__
    // If a login has no session keyring, the kernel uses the keyring that all logins of the user share
    // (user-session-keyring(7)). Pass its number: with KEY_SPEC_SESSION_KEYRING, add_key(2) would create a keyring that
    // ends with this process.
    long keyring = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0, 0, 0);
    if (keyring == -1) return -1;
    long key = syscall(SYS_add_key, "user", name, bytes, count, keyring);
    if (key == -1) return -1;
    // A process that su or sudo started for another user inherits this keyring. Without this call, it could read the
    // key, because a key grants its possessor all rights (keyctl_setperm(3)).
    if (syscall(SYS_keyctl, KEYCTL_SETPERM, key, owner_only, 0, 0) == 0
        && syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, seconds, 0, 0) == 0)
        return 0;
    // Do not leave the key there without a time limit.
    int code = errno;
    syscall(SYS_keyctl, KEYCTL_INVALIDATE, key, 0, 0, 0);
    errno = code;
    return -1;
#else
    (void)name, (void)bytes, (void)count, (void)seconds;
    errno = ENOSYS;
    return -1;
#endif
}

long accountkit_keyring_get(const char *name, void *bytes, size_t count) {
#ifdef __linux__
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", name, 0);
    if (key == -1) return -1;
    return syscall(SYS_keyctl, KEYCTL_READ, key, bytes, count, 0);
#else
    (void)name, (void)bytes, (void)count;
    errno = ENOSYS;
    return -1;
#endif
}

int accountkit_keyring_remove(const char *name) {
#ifdef __linux__
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", name, 0);
    if (key == -1) return -1;
    return (int)syscall(SYS_keyctl, KEYCTL_INVALIDATE, key, 0, 0, 0);
#else
    (void)name;
    errno = ENOSYS;
    return -1;
#endif
}

int accountkit_keyring_is_absent(int code) {
#ifdef __linux__
    // A container may forbid the call. In this case, no key was stored either.
    return code == ENOKEY || code == EKEYEXPIRED || code == EKEYREVOKED || code == ENOSYS || code == EPERM;
#else
    return code == ENOSYS;
#endif
}

const char *accountkit_errno_name(int code) {
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 32)
    return strerrorname_np(code);
#endif
#endif
    (void)code;
    return NULL;
}

void accountkit_forbid_name_plugins(void) {
#if defined(__GLIBC__)
    // In a program without a dynamic loader, AT_BASE is 0 (getauxval(3)).
    if (getauxval(AT_BASE) != 0) return;
    __nss_configure_lookup("hosts", "files dns");
    static const char *const databases[] = {"passwd", "group", "services", "protocols", "networks"};
    for (unsigned index = 0; index < sizeof databases / sizeof *databases; index += 1) {
        __nss_configure_lookup(databases[index], "files");
    }
#endif
}
