#!/usr/bin/env bash
# Random lives of a session. The same seed always gives the same life. See README.md.
#
#     run.sh COUNT                  runs COUNT schedules on all cores, then each deliberate mistake
#     run.sh seed SEED [MISTAKE]    runs one schedule and prints it
#
# Fails if a rule is violated, if a required event never happened, or if a mistake is not detected.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Without this variable, the order of sets and dictionaries is random in the simulation. It also keeps the order of traits the same in each
# build; see Scripts/debug-flags.sh.
export SWIFT_DETERMINISTIC_HASHING=1

# Package.swift then contains the simulation.
export ACCOUNTKIT_VERIFY=1
swift=${SWIFT:-swift}
options=(--scratch-path .build/simulation -c release --static-swift-stdlib -debug-info-format none --product simulation)
"$swift" build "${options[@]}" --explicit-target-dependency-import-check error
program=$("$swift" build "${options[@]}" --show-bin-path)/simulation

if [[ ${1:?usage: run.sh COUNT, or run.sh seed SEED} == seed ]]; then
    exec "$program" "$@"
fi

# A process that dies leaves its tasks behind, so the program's memory grows by some 20 KiB for each schedule.
chunk=20000
run_share() {
    local at=$1 end=$2
    while ((at < end)); do
        "$program" $((end - at < chunk ? end - at : chunk)) "$at" || return 1
        at=$((at + chunk))
    done
}

count=$1 workers=$(nproc)
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
share=$(((count + workers - 1) / workers))
started=$(date +%s%N)
pids=()
for ((worker = 0; worker < workers; worker++)); do
    run_share $((worker * share)) $(((worker + 1) * share)) >"$results/$worker" &
    pids+=($!)
done
failures=0
for worker in "${!pids[@]}"; do
    wait "${pids[$worker]}" || {
        cat "$results/$worker"
        failures=1
    }
done
((failures == 0)) || exit 1

awk -F '\t' -v nanoseconds=$(($(date +%s%N) - started)) '
    !($2 in sums) { order[++number] = $2 }
    { sums[$2] += $1 }
    END {
        for (at = 1; at <= number; at++) {
            printf "%10d  %s\n", sums[order[at]], order[at]
            if (sums[order[at]] == 0) never = never "\n    " order[at]
        }
        printf "%10.0f  schedules a second, on '"$workers"' cores\n", sums["schedules"] / nanoseconds * 1e9
        if (never) { print "These must happen, and never did:" never; exit 1 }
    }' "$results"/*

"$program" mistakes 20000
