// A service that answers at once, on the loopback interface: discovery, user info and tokens, each a fixed text.
//
// In C, and a thread a connection, so that little of what is measured is the server's.
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <stdint.h>

// Begins to serve, on threads of its own, until the process ends.
//
// Returns the port, or 0 if it cannot.
uint16_t loopback_start(void);

// The processor time that the server's threads took so far, in nanoseconds, and how many requests they answered.
void loopback_usage(uint64_t *nanoseconds, uint64_t *requests);

#endif
