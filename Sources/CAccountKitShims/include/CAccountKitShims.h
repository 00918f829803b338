// The few C calls that Swift cannot import: macros with arguments, variadic functions, GNU extensions.
//
// This file defines no feature test macro: Swift reads it and the C library's headers as two modules, and refuses the
// build if they see one structure with different members (fd_set with _GNU_SOURCE).
#ifndef CACCOUNTKITSHIMS_H
#define CACCOUNTKITSHIMS_H

#include <stddef.h>
#include <sys/types.h>

#include "AccountKitService.h"
#include "AccountKitSignals.h"

/// Tries to take an exclusive lock on the whole file without waiting. The kernel releases the lock with the last
/// descriptor of the open file, even when the process dies. On Linux this is an open-file-description lock (fcntl(2),
/// F_OFD_SETLK): it conflicts between two opens in one process and survives an unrelated close of the same file.
/// Elsewhere it is flock(2), which behaves alike.
///
/// Returns 0, or -1 with errno set; EAGAIN, EACCES and EWOULDBLOCK mean that another open file holds the lock.
int accountkit_try_lock(int descriptor);

/// Releases the lock, even if a copy of the descriptor is open elsewhere.
void accountkit_unlock(int descriptor);

/// Reserves disk space, so that a later write of that many bytes cannot fail because the disk is full. Returns 0 or an
/// errno value (posix_fallocate(3)); 0 if the file system cannot reserve space.
int accountkit_reserve(int descriptor, off_t length);

/// Waits until the file's data is on the disk: fsync(2), and on Apple systems F_FULLFSYNC, because fsync there leaves
/// the data in the drive's cache.
int accountkit_sync(int descriptor);

/// Prevents core dumps of this process, and attaching to it from other processes of the same user (PR_SET_DUMPABLE).
int accountkit_forbid_dumps(void);

/// Starts a program without a shell, with an empty standard input and its output going to `output`. It shares standard
/// error and the terminal with this process. It inherits the environment without the variables named in `hidden`, and
/// with glibc no other open files. Both lists end with NULL. Returns 0 or an errno value, as posix_spawnp(3) does.
int accountkit_spawn(char *const arguments[], char *const hidden[], int output, pid_t *process);

/// Replaces this process with a program (execvp(3)), which inherits the terminal, the open files without O_CLOEXEC, and
/// the signal dispositions that this process was started with. Its environment is that of this process without the
/// variables named in `hidden`, and with `additions` ("NAME=value"). The lists end with NULL. Returns only on failure,
/// with an errno value. Then this process can only report the error.
int accountkit_become(char *const arguments[], char *const hidden[], char *const additions[]);

/// Creates a pipe whose ends have O_CLOEXEC, and whose reading end is non-blocking. Returns 0 or -1.
int accountkit_pipe(int ends[2]);

/// Stores bytes under a name in the kernel's keyring of this login session (keyrings(7)) for a number of seconds, and
/// replaces earlier ones of that name. Returns 0, or -1 with errno set.
int accountkit_keyring_put(const char *name, const void *bytes, size_t count, unsigned int seconds);

/// Reads these bytes. Returns their count, which may be larger than the buffer, or -1 with errno set.
long accountkit_keyring_get(const char *name, void *bytes, size_t count);

/// Removes these bytes at once. Returns 0, or -1 with errno set; ENOKEY and similar codes if there are none.
int accountkit_keyring_remove(const char *name);

/// Returns whether an error of these functions means that there is no entry of that name, or no longer one.
int accountkit_keyring_is_absent(int code);

/// Returns the symbolic name of an errno value ("EACCES"), or NULL if the C library does not provide it.
const char *accountkit_errno_name(int code);

/// Keeps a fully static program from loading plugins for host and user names (nsswitch.conf(5)). Call it before
/// anything else: such a plugin loads a second C library, and the process crashes. Lookups in files and by DNS still
/// work. Does nothing in other programs.
void accountkit_forbid_name_plugins(void);

#endif
