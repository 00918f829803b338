#!/usr/bin/env bash
# Builds the example `gists` like the command of `make install`, so that its start time is that of an installed tool:
# gists.sh FILE
set -euo pipefail
cd "$(dirname "$0")/.."

file=${1:?usage: gists.sh FILE}
# shellcheck source=Scripts/release-flags.sh
source Scripts/release-flags.sh static
# shellcheck disable=SC2154
flags=("${nested_flags[@]}" --package-path Examples --scratch-path Examples/.build/install --product gists)
swift build "${flags[@]}"
strip -o "$file" "$(swift build "${flags[@]}" --show-bin-path)/gists"
