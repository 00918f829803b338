#define _GNU_SOURCE

#include "AccountKitSignals.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { number_count = sizeof numbers / sizeof *numbers };

// The dispositions and the mask that the process inherited, before any library changed them.
static const int inherited_numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
enum { inherited_count = sizeof inherited_numbers / sizeof *inherited_numbers };
static int was_ignored[inherited_count];
static sigset_t inherited_mask;

__attribute__((constructor)) static void remember_inherited(void) {
    for (int index = 0; index < inherited_count; index += 1) {
        struct sigaction present;
        if (sigaction(inherited_numbers[index], NULL, &present) != 0) continue;
        was_ignored[index] = !(present.sa_flags & SA_SIGINFO) && present.sa_handler == SIG_IGN;
    }
    pthread_sigmask(SIG_SETMASK, NULL, &inherited_mask);
}

// The state that the handler reads. All of it is lock-free, and sequentially consistent across threads.
static atomic_int is_holding, is_waiting, is_ending, noted, remembered_terminal = -1;
static struct termios terminal;

// The time from which a further SIGINT ends the process, in nanoseconds of the monotonic clock. 0 before the first
// SIGINT, and `never` if no terminal shows the notice.
static atomic_llong patience_end;
static const long long never = INT64_MAX, patience = 1000000000;
static const char advice[] = "Press Ctrl-C again to stop at once.\n";

// Two buffers for each text: the handler may write one buffer to the terminal while the process fills the other.
static char notices[2][512], farewells[2][64];
static atomic_int notice, farewell;

static int say(const char *text) {
    size_t count = strlen(text);
    while (count > 0) {
        ssize_t written = write(STDERR_FILENO, text, count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN) {
            // Do not wait forever for a terminal that accepts no output.
            struct pollfd entry = {.fd = STDERR_FILENO, .events = POLLOUT};
            if (poll(&entry, 1, 1000) > 0) continue;
        }
        if (written <= 0) return 0;
        text += written;
        count -= (size_t)written;
    }
    return 1;
}

static long long now(void) {
    struct timespec time;
    return clock_gettime(CLOCK_MONOTONIC, &time) == 0 ? time.tv_sec * 1000000000LL + time.tv_nsec : 0;
}

// Only the foreground process may change the settings: the system stops other processes that try, and a shell may have
// its own settings.
static int is_in_foreground(int descriptor) {
    pid_t group = tcgetpgrp(descriptor);
    return group == -1 || group == getpgrp();
}

static void restore_terminal(void) {
    int descriptor = atomic_load(&remembered_terminal);
    if (descriptor >= 0 && is_in_foreground(descriptor)) tcsetattr(descriptor, TCSANOW, &terminal);
}

_Noreturn static void end_by(int number) {
    atomic_store(&is_ending, 1);
    // If the terminal program has ended, SIGPIPE must not replace this signal.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);

    restore_terminal();
    if (number != SIGPIPE && atomic_load(&is_waiting)) say(farewells[atomic_load(&farewell)]);

    struct sigaction usual;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    sigaction(number, &usual, NULL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    // No signal ends the first process of a container (pid_namespaces(7)).
    _exit(128 + number);
}

static void handle_interrupt(void) {
    long long end = 0;
    // Until the notice is on the screen, ignore further SIGINTs.
    if (atomic_compare_exchange_strong(&patience_end, &end, never)) {
        const char *text = notices[atomic_load(&notice)];
        if (*text != 0 && say(text) && say(advice)) atomic_store(&patience_end, now() + patience);
    } else if (now() >= end) {
        end_by(SIGINT);
    }
}

static void handle(int number) {
    int code = errno;
    int expected = 0;
    if (!atomic_load(&is_holding)) end_by(number);
    int is_first = atomic_compare_exchange_strong(&noted, &expected, number);
    // If the process released the signals in between, it may have missed the recorded signal.
    if (is_first && !atomic_load(&is_holding)) end_by(number);
    if (number == SIGINT) {
        handle_interrupt();
    } else if (is_first) {
        say(notices[atomic_load(&notice)]);
    }
    errno = code;
}

static int is_handled_here(int number) {
    struct sigaction present;
    return sigaction(number, NULL, &present) == 0 && !(present.sa_flags & SA_SIGINFO) && present.sa_handler == handle;
}

static void install(void) {
    struct sigaction own;
    memset(&own, 0, sizeof own);
    own.sa_handler = handle;
    own.sa_flags = SA_RESTART;
    sigemptyset(&own.sa_mask);
    for (int index = 0; index < number_count; index += 1) sigaddset(&own.sa_mask, numbers[index]);
    for (int index = 0; index < number_count; index += 1) {
        struct sigaction present;
        if (sigaction(numbers[index], NULL, &present) != 0) continue;
        if (present.sa_flags & SA_SIGINFO || present.sa_handler != SIG_DFL) continue;
        sigaction(numbers[index], &own, NULL);
    }
}

// Ctrl-Z: the shell must find the settings of the terminal as they were, because not every shell has its own. When the process
// continues, it sets the mode for typing again.
static void handle_stop(int number) {
    int code = errno;
    restore_terminal();
    struct sigaction usual, own;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    sigaction(number, &usual, &own);
    sigset_t only, before;
    sigemptyset(&only);
    sigaddset(&only, number);
    raise(number);
    // The process stops here.
    pthread_sigmask(SIG_UNBLOCK, &only, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(number, &own, NULL);
    errno = code;
}

static void set_stop_handler(int is_own) {
    struct sigaction present, next;
    memset(&next, 0, sizeof next);
    next.sa_handler = is_own ? handle_stop : SIG_DFL;
    next.sa_flags = SA_RESTART;
    sigemptyset(&next.sa_mask);
    if (sigaction(SIGTSTP, NULL, &present) != 0 || present.sa_flags & SA_SIGINFO) return;
    if (present.sa_handler == (is_own ? SIG_DFL : handle_stop)) sigaction(SIGTSTP, &next, NULL);
}

static void uninstall(void) {
    if (atomic_load(&is_holding) || atomic_load(&is_waiting) || atomic_load(&remembered_terminal) >= 0) return;
    struct sigaction usual;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    for (int index = 0; index < number_count; index += 1) {
        if (is_handled_here(numbers[index])) sigaction(numbers[index], &usual, NULL);
    }
}

static void prepare(char *buffers, size_t size, atomic_int *current, const char *text) {
    int next = 1 - atomic_load(current);
    char *buffer = buffers + (size_t)next * size;
    strncpy(buffer, text, size - 1);
    buffer[size - 1] = 0;
    atomic_store(current, next);
}

void accountkit_signals_hold(const char *text) {
    prepare(notices[0], sizeof notices[0], &notice, text);
    if (atomic_exchange(&is_holding, 1)) return;
    atomic_store(&patience_end, 0);
    install();
}

void accountkit_signals_release(void) {
    atomic_store(&is_holding, 0);
    uninstall();
    // A handler on another thread either sees that no signals are held back, or has already recorded its signal.
    int number = atomic_exchange(&noted, 0);
    if (number != 0) end_by(number);
}

int accountkit_signals_is_ending(void) { return atomic_load(&is_ending); }

int accountkit_signals_noted(void) { return atomic_load(&noted); }

void accountkit_signals_begin_waiting(const char *text) {
    prepare(farewells[0], sizeof farewells[0], &farewell, text);
    if (atomic_exchange(&is_waiting, 1)) return;
    install();
}

void accountkit_signals_end_waiting(void) {
    atomic_store(&is_waiting, 0);
    uninstall();
}

int accountkit_signals_remember_terminal(int descriptor) {
    // The handler must not see settings that are only partly written.
    atomic_store(&remembered_terminal, -1);
    if (descriptor < 0) {
        uninstall();
        return 0;
    }
    if (tcgetattr(descriptor, &terminal) != 0) return -1;
    static atomic_int restores_at_exit;
    if (!atomic_exchange(&restores_at_exit, 1)) atexit(restore_terminal);
    atomic_store(&remembered_terminal, descriptor);
    install();
    return 0;
}

int accountkit_signals_begin_typing(int descriptor, struct accountkit_line_keys *keys) {
    if (atomic_load(&is_ending)) return 1;
    struct termios typing;
    if (tcgetattr(descriptor, &typing) != 0) return -1;
    if (!(typing.c_lflag & ICANON)) return 1;
    if (accountkit_signals_remember_terminal(descriptor) != 0) return -1;
    const int places[] = {VERASE, VWERASE, VKILL, VEOF};
    unsigned char *const values[] = {&keys->erase, &keys->erase_word, &keys->erase_line, &keys->end};
    for (int index = 0; index < 4; index += 1) {
        unsigned char key = typing.c_cc[places[index]];
        *values[index] = key == (unsigned char)_POSIX_VDISABLE ? 0 : key;
    }
    keys->shows_input = (typing.c_lflag & ECHO) != 0;
    typing.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL);
    typing.c_cc[VMIN] = 1;
    typing.c_cc[VTIME] = 0;
    set_stop_handler(1);
    // Keep what the user has already typed.
    int result = tcsetattr(descriptor, TCSANOW, &typing);
    // On another thread, the process may have begun to end, and restored the settings, in between.
    if (atomic_load(&is_ending)) restore_terminal();
    return result;
}

void accountkit_signals_end_typing(void) {
    set_stop_handler(0);
    restore_terminal();
    accountkit_signals_remember_terminal(-1);
}

void accountkit_signals_raise(int number) {
    // Wait until other threads have finished their work, as for a signal from another process.
    if (atomic_load(&is_holding) && is_handled_here(number)) {
        raise(number);
        return;
    }
    struct sigaction present;
    if (sigaction(number, NULL, &present) != 0) return;
    if (present.sa_flags & SA_SIGINFO || (present.sa_handler != SIG_DFL && present.sa_handler != handle)) {
        raise(number);
        return;
    }
    end_by(number);
}

void accountkit_signals_restore_inherited(void) {
    for (int index = 0; index < inherited_count; index += 1) {
        struct sigaction inherited;
        memset(&inherited, 0, sizeof inherited);
        inherited.sa_handler = was_ignored[index] ? SIG_IGN : SIG_DFL;
        sigaction(inherited_numbers[index], &inherited, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &inherited_mask, NULL);
}

static void ignore(int number) { (void)number; }

void accountkit_signals_report_file_limit(void) {
    struct sigaction present, own;
    if (sigaction(SIGXFSZ, NULL, &present) != 0 || present.sa_flags & SA_SIGINFO || present.sa_handler != SIG_DFL) return;
    memset(&own, 0, sizeof own);
    // Programs that this process starts would inherit SIG_IGN, but no handler (execve(2)).
    own.sa_handler = ignore;
    own.sa_flags = SA_RESTART;
    sigemptyset(&own.sa_mask);
    sigaction(SIGXFSZ, &own, NULL);
}

void accountkit_signals_restore_quit(void) {
    for (int index = 0; index < inherited_count; index += 1) {
        if (inherited_numbers[index] == SIGQUIT) signal(SIGQUIT, was_ignored[index] ? SIG_IGN : SIG_DFL);
    }
}

void accountkit_end_by_closed_pipe(void) { end_by(SIGPIPE); }

ssize_t accountkit_write(int descriptor, const void *bytes, size_t count) {
    sigset_t pipe, pending, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigemptyset(&pending);
    sigpending(&pending);
    int was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    ssize_t written;
    do {
        written = write(descriptor, bytes, count);
    } while (written < 0 && errno == EINTR);
    int code = errno;
    if (written < 0 && code == EPIPE && !was_pending) {
        // Consume the SIGPIPE that this write caused.
        sigpending(&pending);
        int number;
        if (sigismember(&pending, SIGPIPE)) sigwait(&pipe, &number);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = code;
    return written;
}
