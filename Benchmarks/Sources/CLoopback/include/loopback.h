// A service on the loopback interface that responds at once: discovery, user info and tokens, each a fixed text.
//
// The service is written in C and uses a thread per connection, so that the server's share of a measurement is small.
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <stdint.h>

// Starts to serve, on separate threads, until the process ends.
//
// Returns the port, or 0 on failure.
uint16_t loopback_start(void);

// Returns the processor time of the server's threads so far, in nanoseconds, and the number of requests that they have
// answered.
void loopback_usage(uint64_t *nanoseconds, uint64_t *requests);

#endif
