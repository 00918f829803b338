#!/usr/bin/env bash
# Builds the floor with SwiftNIO, linked as the installed command is: nio-floor.sh FILE
set -euo pipefail
cd "$(dirname "$0")/.."

file=${1:?usage: nio-floor.sh FILE}
# shellcheck source=Scripts/release-flags.sh
source Scripts/release-flags.sh static
# shellcheck disable=SC2154
flags=(--package-path Benchmarks "${flags[@]}" --scratch-path Benchmarks/.build/static)
swift build "${flags[@]}" --product nio-floor
strip -o "$file" "$(swift build "${flags[@]}" --show-bin-path)/nio-floor"
