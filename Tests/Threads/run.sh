#!/usr/bin/env bash
# The tests of what several threads do at once, under Thread Sanitizer: run.sh [PATTERN]; run.sh --build compiles them only.
#
# Fails if a test does, or if a race is reported. First a program shows that a lock is none and that a race is one.
set -euo pipefail
cd "$(dirname "$0")/../.."

swift=${SWIFT:-swift}
scratch=.build/tsan
mkdir -p "$scratch"

# Without the trait `Offline`: what happens at once there happens in SQLite, which is not built with the sanitizer.
options=(--sanitize=thread --scratch-path "$scratch")
build() { "$swift" build --build-tests "${options[@]}" --explicit-target-dependency-import-check error; }
if [[ ${1:-} == --build ]]; then
    build
    exit
fi

# The compiler's own clang: it knows Swift's calling convention.
resources=$("$swift" -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["paths"]["runtimeResourcePath"])')
"$resources/../../bin/clang" -Wall -Wextra -O1 -shared -fPIC Tests/Threads/mutex.c -o "$scratch/mutex.so"
sanitized() {
    LD_PRELOAD=$PWD/$scratch/mutex.so TSAN_OPTIONS=exitcode=66:suppressions=$PWD/Tests/Threads/suppressions.txt "$@"
}

"${swift}c" -swift-version 6 -O -parse-as-library -sanitize=thread Tests/Threads/control.swift -o "$scratch/control"
sanitized "$scratch/control" locked
# On a machine that is busy all may happen on one thread, where nothing races.
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

build
# Not by `swift test`, which would get the library too.
tests=$("$swift" build "${options[@]}" --show-bin-path)/swift-account-kitPackageTests.xctest
# Few at a time: all of them at once would wait for each other's turns longer than some of them wait for a lock, or for an
# answer.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4
# Those that wait for processes are left out, and those whose process is to die of a signal or has a small stack: the
# sanitizer takes both for itself. So are those of values that no two threads see, which would take most of the time.
sanitized "$tests" --testing-library swift-testing --filter "${1:-.}" \
    --skip 'SystemTests|ReaderTests|FlowTests|FlowSearchTests|KeepStateMachineTests|^AccountImportTests|ends the process|theDeepestNesting'
