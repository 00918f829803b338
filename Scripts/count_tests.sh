#!/usr/bin/env bash
# Prints how many tests have passed: count_tests.sh LOG [RUNS]. Fails unless the output of `swift test` in LOG has RUNS successful runs
# (default: 1), each with a test.
set -euo pipefail

log=${1:?usage: count_tests.sh LOG [RUNS]}
awk -v wanted="${2:-1}" '
    match($0, /Test run with [0-9]+ tests? .*passed/) { split(substr($0, RSTART), words, " "); if (words[4] > 0) { runs++; sum += words[4] } }
    END { print sum + 0; exit runs != wanted }' "$log" || {
    echo "a run without a test, or without a result" >&2
    exit 1
}
