#!/usr/bin/env bash
# Runs the unit tests of the modules with unchecked code under Thread Sanitizer: run.sh [PATTERN].
#
# Fails if a test fails, or if a race is reported. First, a program shows that a lock is not reported and a race is.
set -euo pipefail
cd "$(dirname "$0")/../.."

swift=${SWIFT:-swift}
scratch=.build/tsan
mkdir -p "$scratch"

options=(--package-path Verification/Threads --scratch-path "$scratch" --sanitize=thread)
# shellcheck source=Scripts/debug-flags.sh
source Scripts/debug-flags.sh

# In all other modules the compiler checks that values are not shared without protection.
if unchecked=$(grep -rnE '@unchecked Sendable|nonisolated\(unsafe\)' Sources --include='*.swift' |
    grep -vE '^Sources/Account(Crypto|Documents|Kit|Support|Testing)/'); then
    echo "Thread Sanitizer does not run the tests of these modules. Add them to Verification/Threads/Package.swift:" >&2
    echo "$unchecked" >&2
    exit 1
fi

# Use the toolchain's clang, which supports Swift's calling convention.
resources=$("$swift" -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["paths"]["runtimeResourcePath"])')
"$resources/../../bin/clang" -Wall -Wextra -O1 -shared -fPIC Verification/Threads/mutex.c -o "$scratch/mutex.so"
sanitized() {
    LD_PRELOAD=$PWD/$scratch/mutex.so TSAN_OPTIONS=exitcode=66:suppressions=$PWD/Verification/Threads/suppressions.txt "$@"
}

"${swift}c" -swift-version 6 -O -parse-as-library -sanitize=thread Verification/Threads/control.swift -o "$scratch/control"
sanitized "$scratch/control" locked
# On a busy machine all tasks may run on one thread, so that there is no race. Try several times.
is_seen=
for _ in 1 2 3 4 5; do
    if ! sanitized "$scratch/control" racing 2>"$scratch/racing.txt" && grep -q 'data race' "$scratch/racing.txt"; then
        is_seen=yes
        break
    fi
done
[[ $is_seen ]] || {
    echo "Thread Sanitizer does not see a race that is there." >&2
    exit 1
}

# shellcheck disable=SC2154
"$swift" build --build-tests "${options[@]}" "${flags[@]}"
# Do not use `swift test`, which would load the library too.
tests=$("$swift" build "${options[@]}" --show-bin-path)/account-kit-threadsPackageTests.xctest
# Limit the parallelism: with all tests at once, some would time out waiting for a lock or a response.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4
# Exclude tests whose process ends by a signal, because the sanitizer handles signals itself. Also exclude tests that would take most of the
# time and share nothing between threads that other tests do not share: tests of values, and tests that try each possible error in turn.
# Also exclude the test that reads the README of the root package.
sanitized "$tests" --testing-library swift-testing --filter "${1:-.}" \
    --skip 'FlowTests|FlowSearchTests|StorageFaultTests|BlobRandomTests|PropertyListDocumentTests|failed key change' \
    --skip 'ExpiryExampleLengthTests|ends the process'
