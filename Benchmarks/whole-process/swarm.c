// Starts a command many times at once, and waits for all of them: swarm COUNT COMMAND [ARGUMENT …]
//
// Prints the elapsed nanoseconds, the largest memory of one process in KiB, and how many failed.
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

int main(int count, char **arguments) {
    if (count < 3) return 64;
    int processes = atoi(arguments[1]), failures = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);

    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < processes; i++) {
        pid_t process;
        if (posix_spawnp(&process, arguments[2], &actions, NULL, arguments + 2, environ) != 0) failures++;
    }
    int status;
    while (wait(&status) > 0)
        if (status != 0) failures++;
    clock_gettime(CLOCK_MONOTONIC, &end);

    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    long long elapsed = (end.tv_sec - start.tv_sec) * 1000000000LL + (end.tv_nsec - start.tv_nsec);
    printf("%lld %ld %d\n", elapsed, usage.ru_maxrss, failures);
    return failures ? 1 : 0;
}
