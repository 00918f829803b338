// Runs the loopback service for other processes. Prints its port, and at the end of standard input the processor time per
// request.
#include <inttypes.h>
#include <stdio.h>

#include "loopback.h"

int main(void) {
    uint16_t port = loopback_start();
    if (!port) return 1;
    printf("%u\n", port);
    fflush(stdout);
    while (getchar() != EOF) {
    }
    uint64_t nanoseconds, requests;
    loopback_usage(&nanoseconds, &requests);
    printf("%" PRIu64 " %" PRIu64 "\n", nanoseconds, requests);
    return 0;
}
