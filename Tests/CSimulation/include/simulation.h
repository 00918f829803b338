#ifndef SIMULATION_H
#define SIMULATION_H

#include <stddef.h>
#include <stdint.h>

/* Jobs of tasks wait here, instead of being run by threads, until one is chosen. */
void simulation_collect_jobs(void);

/* How many wait. */
size_t simulation_job_count(void);

/* Runs one of them, up to where its task waits for something. */
void simulation_run_job(size_t index);

/* From now on a crash, or a minute of the processor's time without another seed, says which seed it was. */
void simulation_watch(void);

/* Begins the random bytes of libsodium anew. */
void simulation_seed(uint64_t seed);

#endif
