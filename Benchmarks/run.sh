#!/usr/bin/env bash
# Builds the benchmarks and the programs that they measure, and runs the benchmarks: run.sh [--short] [OPTION OF run.py]…
#
# Without --short, this takes about twenty minutes after the first build, and writes RESULTS.md. With --short, it only shows that the
# benchmarks run, with the debug builds of the programs, in a few minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

export SWIFT_DETERMINISTIC_HASHING=1
options=(--package-path Benchmarks -c release --explicit-target-dependency-import-check error)
"${SWIFT:-swift}" build "${options[@]}"

if [[ " $* " == *" --short "* ]]; then
    for product in account gists; do Scripts/build.sh integration --product "$product"; done
    products=$(Scripts/build.sh integration --show-bin-path)
    programs=(--account "$products/account" --gists "$products/gists")
else
    Scripts/release.sh static .build/release-static
    # The example is linked like the command, so that its start time is that of an installed tool.
    # shellcheck source=Scripts/release-flags.sh
    source Scripts/release-flags.sh static
    # shellcheck disable=SC2154
    flags=("${nested_flags[@]}" --package-path Examples --scratch-path Examples/.build/install --product gists)
    "${SWIFT:-swift}" build "${flags[@]}"
    strip -o Benchmarks/.build/gists "$("${SWIFT:-swift}" build "${flags[@]}" --show-bin-path)/gists"
    programs=(--account .build/release-static/bin/account --gists Benchmarks/.build/gists)
fi

python3 -B Benchmarks/run.py "${programs[@]}" --build "$("${SWIFT:-swift}" build "${options[@]}" --show-bin-path)" "$@"
