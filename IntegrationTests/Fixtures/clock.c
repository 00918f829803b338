// Preload this library into a program to move the program's clock by the seconds in CLOCK_AHEAD.
//
// Only the functions that tell the date are affected, as if a user had set the machine's clock. Timers keep running
// normally: faketime(1) moves them too, so a program that waits can wait forever.

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead;

__attribute__((constructor)) static void readOffset(void) {
    const char *text = getenv("CLOCK_AHEAD");
    if (text) ahead = atoll(text);
}

int clock_gettime(clockid_t clock, struct timespec *result) {
    if (syscall(SYS_clock_gettime, clock, result) != 0) return -1;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) result->tv_sec += ahead;
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
