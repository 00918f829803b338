// The few C calls that Swift cannot import: macros with arguments, variadic functions, GNU extensions.
//
// No feature test macro is defined here: Swift reads this file and the C library's headers as two
// modules, and refuses the build where they see one structure with different members (fd_set with _GNU_SOURCE).
#ifndef CACCOUNTKITSHIMS_H
#define CACCOUNTKITSHIMS_H

#include <stddef.h>
#include <sys/types.h>

#include "AccountKitService.h"
#include "AccountKitSignals.h"

/// Tries to take an exclusive lock on the whole file without waiting.
///
/// On Linux it is an open-file-description lock (fcntl(2), F_OFD_SETLK): it conflicts between two opens in one process
/// and survives an unrelated close of the same file. Elsewhere it is flock(2), which behaves alike. The kernel drops
/// either when the last descriptor of the open file goes, also when the process dies.
///
/// Returns 0, or -1 with errno set; EAGAIN, EACCES or EWOULDBLOCK say that another holds the lock.
int accountkit_try_lock(int descriptor);

/// Lets the lock go, also if a copy of the descriptor is open elsewhere.
void accountkit_unlock(int descriptor);

/// Reserves disk space, so that a later write of that many bytes cannot fail for want of it.
///
/// Returns 0 or an errno value, as posix_fallocate(3) does; a file system that cannot reserve answers 0.
int accountkit_reserve(int descriptor, off_t length);

/// Waits until the data of the file is on the disk: fsync(2), and on Apple systems F_FULLFSYNC, because fsync there
/// leaves the data in the drive's cache.
int accountkit_sync(int descriptor);

/// Forbids core dumps of this process and attaching to it by other processes of the same user (PR_SET_DUMPABLE).
int accountkit_forbid_dumps(void);

/// Starts a program without a shell, with nothing to read and its output going to `output`; what it has to say on standard
/// error, and the terminal, it shares with this process. Its environment is that of this process without the variables that
/// are named in `hidden`; with glibc it has no other open files of this process. Both lists end with NULL.
///
/// Returns 0 or an errno value, as posix_spawnp(3) does.
int accountkit_spawn(char *const arguments[], char *const hidden[], int output, pid_t *process);

/// Puts a program in the place of this one (execvp(3)): it has the process, its terminal and its open files that are not
/// O_CLOEXEC, and treats signals as this process was told to. Its environment is that of this process without the
/// variables that are named in `hidden`, and with `additions` ("NAME=value"). The lists end with NULL.
///
/// Returns only if that failed, with an errno value; then the process is of no use but to say so.
int accountkit_become(char *const arguments[], char *const hidden[], char *const additions[]);

/// Makes a pipe whose ends no other program gets by accident, and whose reading end does not wait. Returns 0 or -1.
int accountkit_pipe(int ends[2]);

/// Puts bytes into the kernel's keyring of this login session (keyrings(7)) for so many seconds, in place of those that
/// are there by this name. Returns 0, or -1 with errno set.
int accountkit_keyring_put(const char *name, const void *bytes, size_t count, unsigned int seconds);

/// Reads such bytes. Returns how many there are, which may be more than fit, or -1 with errno set.
long accountkit_keyring_get(const char *name, void *bytes, size_t count);

/// Removes such bytes at once. Returns 0, or -1 with errno set; ENOKEY and the like if there are none.
int accountkit_keyring_remove(const char *name);

/// Whether an error of these says that there is nothing of that name, or not any more.
int accountkit_keyring_is_absent(int code);

/// The symbolic name of an errno value ("EACCES"), or NULL where the C library does not tell.
const char *accountkit_errno_name(int code);

/// Keeps a fully static program from loading plugins for names of hosts and users (nsswitch.conf(5)), to be called before
/// anything else. They bring a second C library along, and the process dies. What the C library can do by itself stays:
/// files and DNS. Does nothing in any other program.
void accountkit_forbid_name_plugins(void);

#endif
