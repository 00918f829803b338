// The few C declarations that Swift cannot import: macros with arguments, variadic functions, GNU extensions.
#ifndef CACCOUNTKITSHIMS_H
#define CACCOUNTKITSHIMS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

/// Tries to take an exclusive lock on the whole file without waiting.
///
/// On Linux it is an open-file-description lock (fcntl(2), F_OFD_SETLK): it conflicts between two opens in one process
/// and survives an unrelated close of the same file. Elsewhere it is flock(2), which behaves alike. The kernel drops
/// either when the last descriptor of the open file goes, also when the process dies.
///
/// Returns 0, or -1 with errno set; EAGAIN, EACCES or EWOULDBLOCK say that another holds the lock.
static inline int accountkit_try_lock(int descriptor) {
#ifdef F_OFD_SETLK
    struct flock lock;
    memset(&lock, 0, sizeof(lock));
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return fcntl(descriptor, F_OFD_SETLK, &lock);
#else
    extern int flock(int, int);
    return flock(descriptor, 2 /* LOCK_EX */ | 4 /* LOCK_NB */);
#endif
}

/// Reserves disk space, so that a later write of that many bytes cannot fail for want of it.
///
/// Returns 0 or an errno value, as posix_fallocate(3) does; a file system that cannot reserve answers 0.
static inline int accountkit_reserve(int descriptor, off_t length) {
#ifdef __linux__
    if (fallocate(descriptor, 0, 0, length) == 0) return 0;
    return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : errno;
#else
    (void)descriptor;
    (void)length;
    return 0;
#endif
}

/// Waits until the data of the file is on the disk: fsync(2), and on Apple systems F_FULLFSYNC, because fsync there
/// leaves the data in the drive's cache.
static inline int accountkit_sync(int descriptor) {
#ifdef F_FULLFSYNC
    if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
    if (errno != ENOTSUP) return -1;
#endif
    return fsync(descriptor);
}

/// Forbids core dumps of this process and attaching to it by other processes of the same user (PR_SET_DUMPABLE).
static inline int accountkit_forbid_dumps(void) {
#ifdef __linux__
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#else
    return 0;
#endif
}

/// The symbolic name of an errno value ("EACCES"), or NULL where the C library does not tell.
static inline const char *accountkit_errno_name(int code) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
    extern const char *strerrorname_np(int);
    return strerrorname_np(code);
#else
    (void)code;
    return NULL;
#endif
}

#endif
