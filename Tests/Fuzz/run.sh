#!/usr/bin/env bash
# Looks for bytes that break what the readers of this project promise: run.sh SECONDS [TARGET]…; run.sh --build compiles only.
#
# SECONDS are for each target. What is found is kept in .build/fuzz/found; mend it, and put it into Corpus, so that it is
# tried each time from then on.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:?usage: run.sh SECONDS [TARGET]…, or run.sh --build}
shift
work=.build/fuzz

# A release build, since it is searched for speed; preconditions stay in.
swift build --package-path Tests/Fuzz --scratch-path "$work" -c release --product fuzz
if [[ $seconds == --build ]]; then exit; fi
fuzz=$work/release/fuzz
mkdir -p "$work/seeds"
"$fuzz" seeds "$work/seeds"
(($#)) || mapfile -t targets < <("$fuzz" list)
(($#)) && targets=("$@")

# libFuzzer writes down what it found itself.
export SWIFT_BACKTRACE=enable=no
search() {
    local target=$1 corpus=$work/corpus/$1
    mkdir -p "$corpus" "$work/seeds/$target" "$work/found"
    "$fuzz" "$target" "$corpus" "$work/seeds/$target" "Tests/Fuzz/Corpus/$target" -max_total_time="$seconds" \
        -max_len=4096 -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=64 -dict=Tests/Fuzz/words.dict \
        -artifact_prefix="$work/found/$target-" >"$work/$target.log" 2>&1 && touch "$work/$target.passed"
}

# One on each processor. What they say is said when all have ended.
rm -f "$work"/*.passed
for target in "${targets[@]}"; do
    while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
    search "$target" &
done
wait

failed=()
for target in "${targets[@]}"; do
    echo "== $target"
    if [[ ! -e $work/$target.passed ]]; then
        failed+=("$target")
        grep -vE '^#|^INFO' "$work/$target.log" | tail -n 40
    fi
    grep -E '^#[0-9]+\s+(INITED|DONE)' "$work/$target.log" || true
done
((${#failed[@]} == 0)) || {
    echo "Found something in: ${failed[*]}" >&2
    exit 1
}
