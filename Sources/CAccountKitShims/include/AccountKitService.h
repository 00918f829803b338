// Support for long-running programs.
#ifndef ACCOUNTKIT_SERVICE_H
#define ACCOUNTKIT_SERVICE_H

/// Makes SIGINT, SIGTERM and SIGHUP write one byte each to `descriptor` instead of ending the process. Ignored signals
/// stay ignored. With -1, the signals end the process again.
void accountkit_signals_forward(int descriptor);

/// Returns 1 if a folder's file system keeps its content in memory only (tmpfs), 0 if not, and -1 if this is unknown.
int accountkit_is_in_memory(const char *folder);

#endif
