#ifndef SIMULATION_H
#define SIMULATION_H

#include <stddef.h>
#include <stdint.h>

/* Collects the jobs of tasks instead of running them on threads, until one is chosen. */
void simulation_collect_jobs(void);

/* The number of waiting jobs. */
size_t simulation_job_count(void);

/* Runs a job until its task suspends. */
void simulation_run_job(size_t index);

/* From now on a crash, or a minute of processor time without another seed, reports the seed. */
void simulation_watch(void);

/* Restarts libsodium's random bytes. */
void simulation_seed(uint64_t seed);

#endif
