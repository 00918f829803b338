// Support for long-running programs, as a systemd service or in a terminal.
#ifndef ACCOUNTKIT_SERVICE_H
#define ACCOUNTKIT_SERVICE_H

/// Creates an alarm for a wall-clock date, which also counts the time in which the machine sleeps (timerfd_create(2),
/// CLOCK_REALTIME). Returns a descriptor, or -1 if the system has no such alarms.
int accountkit_alarm_make(void);

/// Sets the alarm to a date in seconds since 1970. With a past date, the alarm rings immediately. With 0, the alarm
/// never rings. The alarm also rings when the clock is set or the machine wakes up. Returns 0, or -1 with errno set.
int accountkit_alarm_set(int alarm, double seconds);

/// Waits until the alarm rings or a byte arrives at `signals`. Without an alarm (-1), the wait ends after two seconds,
/// as if an alarm rang. Returns 0 if the alarm rang, the byte if one arrived, or -1 with errno set.
int accountkit_alarm_wait(int alarm, int signals);

/// Makes SIGINT, SIGTERM and SIGHUP write one byte each to `descriptor` instead of ending the process. Ignored signals
/// stay ignored. With -1, the signals end the process again.
void accountkit_signals_forward(int descriptor);

/// Sends a message to the service manager (sd_notify(3)) as one datagram to a socket. The path of the socket begins
/// with a slash, or with an at sign if the socket is abstract. Waits at most five seconds. Returns 0, or -1 with errno
/// set.
int accountkit_notify(const char *socket, const char *message);

/// Returns 1 if a folder's file system keeps its content in memory only (tmpfs), 0 if not, and -1 if this is unknown.
int accountkit_is_in_memory(const char *folder);

#endif
