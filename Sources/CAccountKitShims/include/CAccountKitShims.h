// The few C calls that Swift cannot import: macros with arguments, variadic functions, GNU extensions.
//
// This file defines no feature test macro. Swift imports this file and the C library's headers as two modules, and
// rejects the build if a structure has different members in the two modules (fd_set with _GNU_SOURCE).
#ifndef CACCOUNTKITSHIMS_H
#define CACCOUNTKITSHIMS_H

#include <stddef.h>
#include <sys/types.h>

#include "AccountKitNetwork.h"
#include "AccountKitService.h"
#include "AccountKitSignals.h"

/// Tries to acquire an exclusive lock on the whole file without waiting. The kernel releases the lock with the last
/// descriptor of the open file, even if the process is killed. On Linux this is an open-file-description lock
/// (fcntl(2), F_OFD_SETLK): it conflicts between two opens in one process and survives an unrelated close of the same
/// file. On other systems, this is flock(2), which behaves in the same way.
///
/// Returns 0, or -1 with errno set. EAGAIN, EACCES and EWOULDBLOCK mean that another open file holds the lock.
int accountkit_try_lock(int descriptor);

/// Tries to acquire a shared lock on the whole file without waiting, like `accountkit_try_lock`. Several open files can
/// hold a shared lock at a time.
int accountkit_try_shared_lock(int descriptor);

/// Releases the lock, even if a copy of the descriptor is open elsewhere.
void accountkit_unlock(int descriptor);

/// Reserves disk space, so that a later write of that many bytes cannot fail because the disk is full. Returns 0 or an
/// errno value, as posix_fallocate(3) does. Also returns 0 if the file system cannot reserve space.
int accountkit_reserve(int descriptor, off_t length);

/// Waits until the file's data is on the disk: fsync(2), and on Apple systems F_FULLFSYNC, because fsync there leaves
/// the data in the drive's cache.
int accountkit_sync(int descriptor);

/// Prevents core dumps of this process, and prevents other processes of the same user from attaching to it
/// (PR_SET_DUMPABLE).
int accountkit_forbid_dumps(void);

/// Starts a program without a shell, with `input` as its standard input and `output` as its standard output. The program
/// shares standard error and the terminal with this process. If `input` is negative, its standard input is empty. If
/// `output` is negative, its standard output and standard error are discarded, and it has no terminal. It inherits the environment without the variables named in `hidden`. With glibc, it inherits no
/// other open files. Both lists end with NULL. Returns 0 or an errno value, as posix_spawnp(3) does.
int accountkit_spawn(char *const arguments[], char *const hidden[], int input, int output, pid_t *process);

/// Replaces this process with a program (execvp(3)), which inherits the terminal, the open files without O_CLOEXEC, and
/// the signal dispositions that this process was started with. The program inherits the environment without the
/// variables named in `hidden`, and with `additions` ("NAME=value"). The lists end with NULL. This function returns
/// only if it fails, with an errno value. In this case, this process can only report the error.
int accountkit_become(char *const arguments[], char *const hidden[], char *const additions[]);

/// Opens a file in place of each of the descriptors 0 to 2 that the parent process closed, so that no file of this process
/// gets such a number, and with it the output of a program. Call this before the process opens a file. Reading from such
/// a standard input finds its end. Writing to such a standard output fails, as it does without this function.
void accountkit_open_standard_streams(void);

/// Returns whether a number of threads can exist at the same time, beside those of this process. Starts them for a moment.
int accountkit_can_start_threads(int count);

/// Creates a pipe whose ends have O_CLOEXEC, and whose reading end is non-blocking. Returns 0 or -1.
int accountkit_pipe(int ends[2]);

/// Stores bytes under a name in the kernel's keyring of this login session (keyrings(7)) for a number of seconds, and
/// replaces earlier bytes under this name. Returns 0, or -1 with errno set.
int accountkit_keyring_put(const char *name, const void *bytes, size_t count, unsigned int seconds);

/// Reads the bytes that are stored under a name. Returns their number, which may be larger than the buffer, or -1 with
/// errno set.
long accountkit_keyring_get(const char *name, void *bytes, size_t count);

/// Removes the bytes that are stored under a name. Returns 0, or -1 with errno set. The code is ENOKEY or similar if
/// there are no bytes under this name.
int accountkit_keyring_remove(const char *name);

/// Returns whether an error of the keyring functions means that there are no bytes under the name.
int accountkit_keyring_is_absent(int code);

/// Returns the symbolic name of an errno value ("EACCES"), or NULL if the C library does not provide it.
const char *accountkit_errno_name(int code);

/// Prevents a fully static program from loading plugins for host and user names (nsswitch.conf(5)). A plugin would load
/// a second C library and crash the process, so call this function before any other code. Lookups in files and by DNS
/// still work. In other programs, this function has no effect.
void accountkit_forbid_name_plugins(void);

#endif
