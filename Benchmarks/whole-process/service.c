// Runs the loopback service for other processes. Prints its port. For each line on standard input, prints the processor time of its
// requests in nanoseconds, and their number.
#include <inttypes.h>
#include <stdio.h>

#include "loopback.h"

int main(void) {
    uint16_t port = loopback_start();
    if (!port) return 1;
    printf("%u\n", port);
    fflush(stdout);
    for (int character; (character = getchar()) != EOF;) {
        if (character != '\n') continue;
        uint64_t nanoseconds, requests;
        loopback_usage(&nanoseconds, &requests);
        printf("%" PRIu64 " %" PRIu64 "\n", nanoseconds, requests);
        fflush(stdout);
    }
    return 0;
}
