#ifndef SIMULATION_INTERNAL_H
#define SIMULATION_INTERNAL_H

#include "simulation.h"

void simulation_seed_random_bytes(uint64_t seed);

#endif
