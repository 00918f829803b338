#define _GNU_SOURCE

#include "AccountKitService.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP};
enum { forwarded_count = sizeof forwarded / sizeof *forwarded };
static atomic_int destination = -1;

static void forward(int number) {
    int code = errno;
    unsigned char byte = (unsigned char)number;
    (void)!write(atomic_load(&destination), &byte, 1);
    errno = code;
}

void accountkit_signals_forward(int descriptor) {
    if (descriptor >= 0) atomic_store(&destination, descriptor);
    for (int index = 0; index < forwarded_count; index += 1) {
        struct sigaction present, own;
        if (sigaction(forwarded[index], NULL, &present) != 0) continue;
        int is_own = !(present.sa_flags & SA_SIGINFO) && present.sa_handler == forward;
        if (descriptor < 0 ? !is_own : present.sa_flags & SA_SIGINFO || present.sa_handler == SIG_IGN) continue;
        memset(&own, 0, sizeof own);
        own.sa_handler = descriptor < 0 ? SIG_DFL : forward;
        own.sa_flags = SA_RESTART;
        sigfillset(&own.sa_mask);
        sigaction(forwarded[index], &own, NULL);
    }
}

int accountkit_is_in_memory(const char *folder) {
#ifdef __linux__
    struct statfs status;
    if (statfs(folder, &status) != 0) return -1;
    // On some systems, the header has no name for ramfs.
    return status.f_type == TMPFS_MAGIC || (unsigned long)status.f_type == 0x858458f6UL;
#else
    (void)folder;
    return -1;
#endif
}
