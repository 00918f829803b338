#!/usr/bin/env bash
# Builds the benchmarks and everything that they measure, runs them, and writes RESULTS.md. About twenty minutes after the first build, on
# an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."

export SWIFT_DETERMINISTIC_HASHING=1
options=(--package-path Benchmarks -c release --explicit-target-dependency-import-check error)
Scripts/release.sh static .build/release-static
"${SWIFT:-swift}" build "${options[@]}"
Benchmarks/gists.sh .build/release-static/bin/gists
python3 -B Benchmarks/run.py --gists .build/release-static/bin/gists --account .build/release-static/bin/account \
    --build "$("${SWIFT:-swift}" build "${options[@]}" --show-bin-path)"
