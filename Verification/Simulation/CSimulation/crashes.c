#include "internal.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static volatile uint64_t current;

static void say(int number) {
    char text[] = "seed 00000000000000000000: crashed, or does not end. To see it again: make simulate SEED=<that>\n";
    uint64_t rest = current;
    for (int place = 24; place > 4; place--) {
        text[place] = (char)('0' + rest % 10);
        rest /= 10;
    }
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) _exit(2);
    signal(number, SIG_DFL);
    raise(number);
}

void simulation_watch(void) {
    static const int signals[] = {SIGABRT, SIGPROF, SIGBUS, SIGILL, SIGSEGV, SIGTRAP};
    for (size_t at = 0; at < sizeof signals / sizeof *signals; at++) signal(signals[at], say);
}

void simulation_seed(uint64_t seed) {
    current = seed;
    // Processor time, so that on a busy or suspended machine, a seed does not seem endless.
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = 60}}, NULL);
    simulation_seed_random_bytes(seed);
}
