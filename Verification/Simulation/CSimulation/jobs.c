#include "simulation.h"

#include <stdlib.h>

/* The Swift runtime passes each job that a thread must run to this hook, if it is set (Executor.h). */
#define SWIFT_CC __attribute__((swiftcall))

typedef SWIFT_CC void (*enqueue_original)(void *job);
extern SWIFT_CC void (*swift_task_enqueueGlobal_hook)(void *job, enqueue_original original);

/* An executor whose two words are zero is the global one. */
extern SWIFT_CC void swift_job_run(void *job, uintptr_t identity, uintptr_t implementation);

static void **jobs;
static size_t count, capacity;

static SWIFT_CC void collect(void *job, enqueue_original original) {
    (void)original;
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 64;
        jobs = realloc(jobs, capacity * sizeof *jobs);
        if (!jobs) abort();
    }
    jobs[count++] = job;
}

void simulation_collect_jobs(void) { swift_task_enqueueGlobal_hook = collect; }

size_t simulation_job_count(void) { return count; }

void simulation_run_job(size_t index) {
    if (index >= count) abort();
    void *job = jobs[index];
    count--;
    for (size_t next = index; next < count; next++) jobs[next] = jobs[next + 1];
    swift_job_run(job, 0, 0);
}
