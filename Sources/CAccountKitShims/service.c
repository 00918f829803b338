#define _GNU_SOURCE

#include "AccountKitService.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/magic.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#endif

int accountkit_alarm_make(void) {
#ifdef __linux__
    return timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
#else
    errno = ENOSYS;
    return -1;
#endif
}

int accountkit_alarm_set(int alarm, double seconds) {
#ifdef __linux__
    if (!(seconds < 1e11)) seconds = 0;
    struct itimerspec setting;
    memset(&setting, 0, sizeof setting);
    if (seconds > 0) {
        setting.it_value.tv_sec = (time_t)seconds;
        setting.it_value.tv_nsec = (long)((seconds - (double)setting.it_value.tv_sec) * 1e9);
        // Zero would mean that the alarm never rings.
        if (setting.it_value.tv_sec == 0 && setting.it_value.tv_nsec == 0) setting.it_value.tv_nsec = 1;
    } else if (seconds < 0) {
        setting.it_value.tv_nsec = 1;
    }
    return timerfd_settime(alarm, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &setting, NULL);
#else
    (void)alarm, (void)seconds;
    return 0;
#endif
}

int accountkit_alarm_wait(int alarm, int signals) {
    while (1) {
        struct pollfd waiting[2] = {{.fd = signals, .events = POLLIN}, {.fd = alarm, .events = POLLIN}};
        int count = poll(waiting, 2, alarm < 0 ? 2000 : -1);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (waiting[0].revents != 0) {
            unsigned char byte;
            ssize_t got = read(signals, &byte, 1);
            if (got == 1) return byte;
            if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
            if (got == 0) errno = EPIPE;
            return -1;
        }
        if (waiting[1].revents != 0) {
            // If the clock was set, the read fails with ECANCELED. Wake up, so that the caller reads the clock.
            uint64_t times;
            (void)!read(alarm, &times, sizeof times);
        }
        return 0;
    }
}

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

int accountkit_notify(const char *socket_path, const char *message) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    size_t length = strlen(socket_path);
    if ((socket_path[0] != '/' && socket_path[0] != '@') || length >= sizeof address.sun_path) {
        errno = EINVAL;
        return -1;
    }
    memcpy(address.sun_path, socket_path, length);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (address.sun_path[0] == '@') {
        address.sun_path[0] = 0;
    } else {
        size += 1;
    }
#ifdef __linux__
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
#else
    int descriptor = socket(AF_UNIX, SOCK_DGRAM, 0);
#endif
    if (descriptor < 0) return -1;
    // The queue of a busy manager may be full. Wait until there is space, because the manager would not receive a
    // dropped message such as READY=1.
    struct timeval timeout = {.tv_sec = 5};
    (void)setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
#ifdef MSG_NOSIGNAL
    int flags = MSG_NOSIGNAL;
#else
    int flags = 0;
#endif
    ssize_t sent = sendto(descriptor, message, strlen(message), flags, (struct sockaddr *)&address, size);
    int code = errno;
    close(descriptor);
    errno = code;
    return sent < 0 ? -1 : 0;
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
