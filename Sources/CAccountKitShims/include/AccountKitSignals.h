// Holds back the signals that end a process (SIGINT, SIGTERM, SIGHUP, SIGQUIT). In C, because a handler may call only
// async-signal-safe functions (signal-safety(7)).
//
// A signal that the process already handles or ignores is left alone. No handler is installed unless signals are held
// back or a farewell is set. Do not call these functions from two threads at once, except where the comment allows it.
#ifndef ACCOUNTKIT_SIGNALS_H
#define ACCOUNTKIT_SIGNALS_H

#include <stddef.h>
#include <sys/types.h>

/// Holds the signals back. The first signal is noted, and `notice`, which is copied, is written to standard error. A
/// further call while signals are held back replaces the notice.
///
/// Only SIGINT can end the process before the release: the first writes the notice and how to give up, and a SIGINT at
/// least a second later ends the process. SIGINTs within that second count as one, since a terminal and a program that
/// forwards signals may both send one for a single Ctrl-C. With an empty notice, for a process without a terminal,
/// nothing is written, and no SIGINT ends the process before the release.
void accountkit_signals_hold(const char *notice);

/// Stops holding signals back. A signal that was noted in between ends the process.
void accountkit_signals_release(void);

/// Returns the noted signal, or 0. From any thread.
int accountkit_signals_noted(void);

/// Makes a signal write `farewell`, which is copied, to standard error, restore the terminal, and end the process.
/// While signals are held back, this happens after the release.
void accountkit_signals_begin_waiting(const char *farewell);

void accountkit_signals_end_waiting(void);

/// Returns whether a signal is ending the process, so that the process must write nothing more.
int accountkit_signals_is_ending(void);

/// Saves the settings of a terminal, which the process restores if a signal ends it; -1 discards them. Returns 0, or -1
/// with errno set.
int accountkit_signals_remember_terminal(int descriptor);

/// Ends the process by a signal. If the process handles or ignores the signal, this function returns. From any thread.
void accountkit_signals_raise(int number);

/// Ends the process as a write to a pipe without a reader does, even if SIGPIPE is ignored. From any thread.
_Noreturn void accountkit_end_by_closed_pipe(void);

/// Restores what this process inherited, for a program that replaces this one: which of these signals and SIGPIPE are
/// ignored, and which signals are blocked in this thread. execve(2) resets handlers.
void accountkit_signals_restore_inherited(void);

/// Restores the inherited handling of SIGQUIT. Swift's runtime may have installed a handler that reports a crash.
void accountkit_signals_restore_quit(void);

/// Calls write(2) so that a pipe without a reader only causes an error, whatever the handling of SIGPIPE. From any
/// thread.
ssize_t accountkit_write(int descriptor, const void *bytes, size_t count);

#endif
