// For a program that runs on and on, as a service of systemd or in a terminal.
#ifndef ACCOUNTKIT_SERVICE_H
#define ACCOUNTKIT_SERVICE_H

/// Makes an alarm that rings at a date, by the clock on the wall: what counts is the date, not how long the machine was
/// awake (timerfd_create(2), CLOCK_REALTIME). Returns a descriptor, or -1 where the system has none of that kind.
int accountkit_alarm_make(void);

/// Sets the alarm to a date, in seconds since 1970, in place of an earlier one; a date that has passed rings at once, and 0
/// never. It also rings when someone sets the clock, or the machine wakes up. Returns 0, or -1 with errno set.
int accountkit_alarm_set(int alarm, double seconds);

/// Waits until the alarm rings, or until a byte comes from `signals`. Without an alarm (-1) it rings every two seconds.
///
/// Returns 0 if it rang, the byte, or -1 with errno set.
int accountkit_alarm_wait(int alarm, int signals);

/// From now on SIGINT, SIGTERM and SIGHUP do not end the process: each is written to `descriptor` as one byte. Those that
/// are ignored stay so. With -1 they end the process again.
void accountkit_signals_forward(int descriptor);

/// Tells the service manager something (sd_notify(3)): one datagram to the socket, whose path begins with a slash, or with
/// an at sign if it is no file. Waits for a busy manager for five seconds at most. Returns 0, or -1 with errno set.
int accountkit_notify(const char *socket, const char *message);

/// Whether what is in a folder is kept in memory and never on a disk (tmpfs): 1 or 0, or -1 if that is not known.
int accountkit_is_in_memory(const char *folder);

#endif
