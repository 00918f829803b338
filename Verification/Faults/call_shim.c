// Preloaded into a program under test: counts the calls, in all of its threads, that change files in a folder. Makes a call, or that call
// and all later calls, fail, or kills the process before a call.
//
//     CALLS_UNDER=FOLDER    the folder
//     CALLS_COUNT=FILE      a file of eight bytes for the count
//     CALLS_AT=N            the number of the faulty call, from 1
//     CALLS_FAULT=KILL, EIO, ENOSPC, EACCES; with a + also all following calls
//
// This library is for programs whose threads cannot be distinguished from outside, such as a program with a database.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic uint64_t own_count;
static _Atomic uint64_t *count = &own_count;
static const char *under, *fault;
static uint64_t at;

__attribute__((constructor)) static void begin(void) {
    under = getenv("CALLS_UNDER");
    fault = getenv("CALLS_FAULT");
    const char *number = getenv("CALLS_AT"), *file = getenv("CALLS_COUNT");
    at = number ? strtoull(number, NULL, 10) : 0;
    if (!file) return;
    long descriptor = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0);
    void *page = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, (int)descriptor, 0);
    if (page != MAP_FAILED) count = page;
    syscall(SYS_close, descriptor);
}

// Whether the next call must fail. Then errno is set.
static int fails(const char *path) {
    if (!under || strncmp(path, under, strlen(under)) != 0) return 0;
    uint64_t number = atomic_fetch_add(count, 1) + 1;
    if (!fault || !at || number < at) return 0;
    if (number > at && !strchr(fault, '+')) return 0;
    if (!strncmp(fault, "KILL", 4)) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    errno = !strncmp(fault, "ENOSPC", 6) ? ENOSPC : !strncmp(fault, "EACCES", 6) ? EACCES : EIO;
    return 1;
}

static int fails_at(int folder, const char *path) {
    char whole[PATH_MAX * 2], link[64];
    if (path[0] == '/') return fails(path);
    if (folder == AT_FDCWD) return 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, whole, PATH_MAX);
    if (length < 0) return 0;
    snprintf(whole + length, sizeof(whole) - (size_t)length, "/%s", path);
    return fails(whole);
}

static int fails_on(int descriptor) {
    char path[PATH_MAX], link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int opened(int folder, const char *path, int flags, mode_t mode) {
    // Count only calls that may change something.
    if ((flags & (O_CREAT | O_TRUNC)) && fails_at(folder, path)) return -1;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE(flags, mode)                                   \
    mode_t mode = 0;                                        \
    if (flags & (O_CREAT | __O_TMPFILE)) {                  \
        va_list rest;                                       \
        va_start(rest, flags);                              \
        mode = va_arg(rest, mode_t);                        \
        va_end(rest);                                       \
    }
int open(const char *path, int flags, ...) { MODE(flags, mode) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags, mode) return opened(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags, mode) return opened(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags, mode) return opened(folder, path, flags, mode); }

ssize_t write(int d, const void *bytes, size_t n) { return fails_on(d) ? -1 : NEXT(write)(d, bytes, n); }
ssize_t pwrite(int d, const void *bytes, size_t n, off_t o) { return fails_on(d) ? -1 : NEXT(pwrite)(d, bytes, n, o); }
ssize_t pwrite64(int d, const void *bytes, size_t n, off64_t o) { return fails_on(d) ? -1 : NEXT(pwrite64)(d, bytes, n, o); }
int ftruncate(int d, off_t n) { return fails_on(d) ? -1 : NEXT(ftruncate)(d, n); }
int ftruncate64(int d, off64_t n) { return fails_on(d) ? -1 : NEXT(ftruncate64)(d, n); }
int fallocate(int d, int mode, off_t o, off_t n) { return fails_on(d) ? -1 : NEXT(fallocate)(d, mode, o, n); }
int fallocate64(int d, int mode, off64_t o, off64_t n) { return fails_on(d) ? -1 : NEXT(fallocate64)(d, mode, o, n); }
int posix_fallocate(int d, off_t o, off_t n) { return fails_on(d) ? errno : NEXT(posix_fallocate)(d, o, n); }
int posix_fallocate64(int d, off64_t o, off64_t n) { return fails_on(d) ? errno : NEXT(posix_fallocate64)(d, o, n); }
int fsync(int d) { return fails_on(d) ? -1 : NEXT(fsync)(d); }
int fdatasync(int d) { return fails_on(d) ? -1 : NEXT(fdatasync)(d); }
int fchmod(int d, mode_t mode) { return fails_on(d) ? -1 : NEXT(fchmod)(d, mode); }
int mkdir(const char *path, mode_t mode) { return fails_at(AT_FDCWD, path) ? -1 : NEXT(mkdir)(path, mode); }
int mkdirat(int f, const char *path, mode_t mode) { return fails_at(f, path) ? -1 : NEXT(mkdirat)(f, path, mode); }
int unlink(const char *path) { return fails_at(AT_FDCWD, path) ? -1 : NEXT(unlink)(path); }
int unlinkat(int f, const char *path, int flags) { return fails_at(f, path) ? -1 : NEXT(unlinkat)(f, path, flags); }
int rmdir(const char *path) { return fails_at(AT_FDCWD, path) ? -1 : NEXT(rmdir)(path); }
int rename(const char *from, const char *to) { return fails_at(AT_FDCWD, to) ? -1 : NEXT(rename)(from, to); }
int renameat(int f, const char *from, int g, const char *to) { return fails_at(g, to) ? -1 : NEXT(renameat)(f, from, g, to); }
int renameat2(int f, const char *from, int g, const char *to, unsigned flags) {
    return fails_at(g, to) ? -1 : NEXT(renameat2)(f, from, g, to, flags);
}
int link(const char *from, const char *to) { return fails_at(AT_FDCWD, to) ? -1 : NEXT(link)(from, to); }
int linkat(int f, const char *from, int g, const char *to, int flags) {
    return fails_at(g, to) ? -1 : NEXT(linkat)(f, from, g, to, flags);
}
