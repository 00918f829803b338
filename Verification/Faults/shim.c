// Preloaded into the programs under test.
//
//     FAULTS_PAD=CALL:COUNT or all:COUNT   the first new thread begins with COUNT calls that fail at once; the program cannot
//                                          create other threads that work
//     FAULTS_PLANT=FILE                    links FILE to every name of a temporary file before it is created
//     FAULTS_CLOCK=SECONDS                 adds SECONDS to the date; FAULTS_CLOCK=steps: each read jumps a day ahead or back
//
// The first option exists because strace counts the calls of each thread separately: the working thread's n-th call must not coincide with
// that of the main thread, which loads libraries, and a single thread must do all the work. The second option acts as an attacker who
// guesses names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// MARK: Numbering

#define CALL(name) {#name, SYS_##name}
static const struct {
    const char *name;
    long number;
} calls[] = {
    CALL(openat), CALL(read), CALL(write), CALL(close), CALL(newfstatat), CALL(fcntl), CALL(getdents64),
    CALL(fchmod), CALL(fallocate), CALL(ftruncate), CALL(fsync), CALL(fchmodat), CALL(mkdirat), CALL(renameat),
    CALL(linkat), CALL(unlinkat),
#ifdef SYS_rename
    CALL(rename), CALL(link), CALL(unlink), CALL(mkdir), CALL(chmod),
#endif
};

struct start {
    void *(*routine)(void *);
    void *argument;
};

static void *pad_and_run(void *pointer) {
    struct start start = *(struct start *)pointer;
    free(pointer);
    const char *pad = getenv("FAULTS_PAD");
    const char *colon = strrchr(pad, ':');
    long count = colon ? atol(colon + 1) : 0;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        size_t length = (size_t)(colon ? colon - pad : 0);
        int named = strlen(calls[i].name) == length && !strncmp(pad, calls[i].name, length);
        if (!named && strncmp(pad, "all:", 4)) continue;
        for (long j = 0; j < count; j++) syscall(calls[i].number, -1L, -1L, 0L, 0L, 0L);
    }
    return start.routine(start.argument);
}

// Whether an address is in the program itself instead of a library.
static int is_in_program(void *address) {
    Dl_info here, program;
    return dladdr(address, &here) && dladdr((void *)getauxval(AT_ENTRY), &program) && here.dli_fbase == program.dli_fbase;
}

int pthread_create(
    pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument) {
    static atomic_int threads;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    // Threads with the smallest stack do nothing: the program only counts them (ThreadSupply).
    size_t stack = 0;
    if (attributes && pthread_attr_getstacksize(attributes, &stack) == 0 && stack == 1 << 16)
        return real(thread, attributes, routine, argument);
    // Without a new thread, the calling thread does blocking work itself (BlockingWork).
    if (getenv("FAULTS_PAD") && is_in_program(__builtin_return_address(0))) return EAGAIN;
    if (!getenv("FAULTS_PAD") || atomic_fetch_add(&threads, 1) > 0)
        return real(thread, attributes, routine, argument);
    struct start *start = malloc(sizeof(*start));
    start->routine = routine;
    start->argument = argument;
    return real(thread, attributes, pad_and_run, start);
}

// MARK: The date

// Clocks that measure durations stay unchanged, as when a user sets the clock of a machine.
int clock_gettime(clockid_t clock, struct timespec *result) {
    static atomic_int looks;
    if (syscall(SYS_clock_gettime, clock, result) != 0) return -1;
    const char *ahead = getenv("FAULTS_CLOCK");
    if (!ahead || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return 0;
    if (strcmp(ahead, "steps")) {
        result->tv_sec += atoll(ahead);
    } else {
        result->tv_sec += atomic_fetch_add(&looks, 1) % 2 ? -86400 : 86400;
    }
    return 0;
}

int gettimeofday(struct timeval *result, void *zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    result->tv_sec = now.tv_sec;
    result->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

// MARK: open

static int open_as(const char *path, int flags, mode_t mode) {
    const char *plant = getenv("FAULTS_PLANT");
    size_t length = strlen(path);
    if (plant && (flags & O_CREAT) && length >= 4 && !strcmp(path + length - 4, ".tmp"))
        syscall(SYS_linkat, AT_FDCWD, plant, AT_FDCWD, path, 0);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_as(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_as(path, flags, mode);
}
