#!/usr/bin/env bash
# Searches for bytes that violate the guarantees of the parsers: run.sh SECONDS [TARGET]….
#
# SECONDS is the time for each target. Findings are stored in .build/fuzz/found. Fix each one and add it to Corpus, so that it
# is tested each time from then on.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:?usage: run.sh SECONDS [TARGET]…}
shift
work=.build/fuzz

# A release build, for speed. Preconditions stay enabled.
"${SWIFT:-swift}" build --package-path Verification/Fuzz --scratch-path "$work" -c release --product fuzz
fuzz=$work/release/fuzz
mkdir -p "$work/seeds"
"$fuzz" seeds "$work/seeds"
if (($#)); then
    targets=("$@")
else
    list=$("$fuzz" list)
    [[ -n $list ]] || {
        echo "$fuzz lists no targets." >&2
        exit 1
    }
    mapfile -t targets <<<"$list"
fi

# libFuzzer reports crashes itself.
export SWIFT_BACKTRACE=enable=no
search() {
    local target=$1 corpus=$work/corpus/$1
    mkdir -p "$corpus" "$work/seeds/$target" "$work/found"
    "$fuzz" "$target" "$corpus" "$work/seeds/$target" "Verification/Fuzz/Corpus/$target" -max_total_time="$seconds" \
        -max_len=4096 -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=64 -dict=Verification/Fuzz/words.dict \
        -artifact_prefix="$work/found/$target-" >"$work/$target.log" 2>&1 && touch "$work/$target.passed"
}

# Run one target on each processor, and print the results when all have ended.
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
