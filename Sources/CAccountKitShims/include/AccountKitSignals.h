// Signals that end a process (SIGINT, SIGTERM, SIGHUP, SIGQUIT), held back while something must be finished. In C, because
// a handler may call nothing that is not async-signal-safe (signal-safety(7)).
//
// A signal that the process handles or ignores already is left alone. While nothing is held back and nobody is waited for,
// no handler is installed. None of the functions may be called by two threads at once, except where it says so.
#ifndef ACCOUNTKIT_SIGNALS_H
#define ACCOUNTKIT_SIGNALS_H

#include <stddef.h>
#include <sys/types.h>

/// Holds the signals back from now on. The first one is noted, and `notice` is written to standard error. Called again while
/// they are held back, it replaces the notice.
///
/// Only SIGINT can end the process before the release. The first SIGINT writes the notice and how to give up; one that comes a
/// second or more later ends the process. Several SIGINTs within that second are one, since a terminal and a program that
/// passes signals on may both send one for a single Ctrl-C.
///
/// `notice` is copied. An empty one, for a process without a terminal, writes nothing; then no SIGINT gives up.
void accountkit_signals_hold(const char *notice);

/// Holds nothing back any more. A signal that was noted meanwhile ends the process.
void accountkit_signals_release(void);

/// The signal that was noted, or 0. From any thread.
int accountkit_signals_noted(void);

/// From now on a signal writes `farewell` to standard error, restores the terminal, and ends the process; while signals are
/// held back, only after that. `farewell` is copied.
void accountkit_signals_begin_waiting(const char *farewell);

/// Undoes that.
void accountkit_signals_end_waiting(void);

/// Whether a signal is just ending the process, which has said its last.
int accountkit_signals_is_ending(void);

/// Remembers how a terminal is set, for the process to restore if a signal ends it; -1 forgets it.
///
/// Returns 0, or -1 with errno set.
int accountkit_signals_remember_terminal(int descriptor);

/// Ends the process by a signal, unless the process handles or ignores it: then it returns. From any thread.
void accountkit_signals_raise(int number);

/// Ends the process as writing to a pipe without a reader does, also where SIGPIPE is ignored, as networking libraries have
/// it. From any thread.
_Noreturn void accountkit_end_by_closed_pipe(void);

/// Gives back what this process was started with: which of these signals and SIGPIPE are ignored, and which signals are
/// blocked in this thread. For a program that takes the place of this one: handlers go by themselves then (execve(2)).
void accountkit_signals_restore_inherited(void);

/// Makes SIGQUIT what this process was started with. Swift's runtime may have taken it for a crash to report.
void accountkit_signals_restore_quit(void);

/// write(2), in which a pipe without a reader is an error and nothing more, whatever SIGPIPE does. From any thread.
ssize_t accountkit_write(int descriptor, const void *bytes, size_t count);

#endif
