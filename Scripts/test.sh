#!/usr/bin/env bash
# Builds and runs the tests of `make test`, and prints the result in one line.
set -euo pipefail
cd "$(dirname "$0")/.."

cat <<'END'
make test: installs missing Debian packages, compiles everything in .build, and runs the unit tests, the end-to-end tests and the quick
start's program. It takes up to 15 minutes on 2 cores from a fresh clone, and up to 5 if everything is compiled.
END
Scripts/bootstrap.sh test

log=$(mktemp)
trap 'rm -f "$log"' EXIT
Scripts/build.sh integration --build-tests
Scripts/build.sh root --build-tests
# If all tests ran at once, some would wait longer for their turn than their timeout for a lock.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=${SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH:-16}
# Run the searches separately: they occupy all processors, which would delay tests with time limits.
searches='FlowSearchTests|DerivationFlowTests|CheckFlowTests'
{
    "${SWIFT:-swift}" test --enable-all-traits --skip-build --skip "$searches"
    "${SWIFT:-swift}" test --enable-all-traits --skip-build --filter "$searches"
    "${SWIFT:-swift}" test --package-path IntegrationTests --scratch-path .build --skip-build
    Verification/Install/quick-start.sh "$(Scripts/build.sh integration --show-bin-path)"
} 2>&1 | tee "$log"

count=$(Scripts/count_tests.sh "$log" 3)
printf '%s tests passed, in %d minutes.\n' "$count" $(((SECONDS + 59) / 60))
