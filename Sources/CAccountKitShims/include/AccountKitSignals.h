// Functions that hold back the signals that end a process (SIGINT, SIGTERM, SIGHUP, SIGQUIT). They are written in C,
// because a handler may call only async-signal-safe functions (signal-safety(7)).
//
// The functions do not change a signal that the process already handles or ignores. They install a handler only while
// signals are held back or a farewell is set. Do not call these functions from two threads at once, except where a
// comment allows it.
#ifndef ACCOUNTKIT_SIGNALS_H
#define ACCOUNTKIT_SIGNALS_H

#include <stddef.h>
#include <sys/types.h>

/// Holds the signals back, and copies `notice`. At the first signal, the handler records the signal and writes the
/// notice to standard error. A further call while signals are held back replaces the notice.
///
/// Before the release, only SIGINT can end the process. At the first SIGINT, the handler writes the notice and explains
/// how to stop at once. A SIGINT at least a second later ends the process. SIGINTs within that second count as one,
/// because a terminal and a program that forwards signals may both send a SIGINT for a single Ctrl-C. For a process
/// without a terminal, pass an empty notice: the handler then writes no text, and no SIGINT ends the process before the
/// release.
void accountkit_signals_hold(const char *notice);

/// Stops holding signals back. If the handler has recorded a signal, this signal ends the process.
void accountkit_signals_release(void);

/// Returns the recorded signal, or 0. Any thread may call this function.
int accountkit_signals_noted(void);

/// Copies `farewell`. From now on, a signal writes the farewell to standard error, restores the terminal, and ends the
/// process. While signals are held back, this happens after the release.
void accountkit_signals_begin_waiting(const char *farewell);

void accountkit_signals_end_waiting(void);

/// Returns whether a signal is ending the process, so that the process must not write any more output.
int accountkit_signals_is_ending(void);

/// Saves the settings of a terminal, which the process restores when it ends, even by a signal. With -1, discards the
/// saved settings. Returns 0, or -1 with errno set.
int accountkit_signals_remember_terminal(int descriptor);

/// What a process needs to edit a line itself. A key that the user has disabled is 0.
struct accountkit_line_keys {
    unsigned char erase, erase_word, erase_line, end;

    /// Whether the terminal shows what the user types.
    unsigned char shows_input;
};

/// Ends canonical mode, in which a line has at most 4,095 bytes, and the echo. Saves the settings as
/// `accountkit_signals_remember_terminal` does. Call this only in the foreground. If the terminal is not in canonical
/// mode, it returns 1 without a change, and otherwise 0, or -1 with errno set. While the process is stopped by Ctrl-Z, the
/// terminal has the saved settings; call this again after that.
int accountkit_signals_begin_typing(int descriptor, struct accountkit_line_keys *keys);

/// Restores the saved settings, unless another process uses the terminal now, and discards them.
void accountkit_signals_end_typing(void);

/// Ends the process with a signal. If the process handles or ignores the signal, this function returns. Any thread may
/// call this function.
void accountkit_signals_raise(int number);

/// Ends the process as a write to a pipe without a reader does, even if SIGPIPE is ignored. Any thread may call this
/// function.
_Noreturn void accountkit_end_by_closed_pipe(void);

/// Restores the inherited signal settings, for a program that replaces this program: which of these signals and SIGPIPE
/// are ignored, and which signals are blocked in this thread. The function does not restore handlers, because execve(2)
/// resets them.
void accountkit_signals_restore_inherited(void);

/// Makes a write beyond the limit for the size of files (setrlimit(2), `RLIMIT_FSIZE`) an error, instead of the end of the
/// process.
void accountkit_signals_report_file_limit(void);

/// Restores the inherited handling of SIGQUIT. Swift's runtime may have installed a handler that reports a crash.
void accountkit_signals_restore_quit(void);

/// Calls write(2). If a pipe has no reader, the only effect is an error, regardless of the handling of SIGPIPE. Any
/// thread may call this function.
ssize_t accountkit_write(int descriptor, const void *bytes, size_t count);

#endif
