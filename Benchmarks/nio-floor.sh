#!/usr/bin/env bash
# Builds the floor with SwiftNIO into Benchmarks/.build/nio-floor, linked like the installed command.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=Scripts/release-flags.sh
source Scripts/release-flags.sh static
# shellcheck disable=SC2154
flags=("${nested_flags[@]}" --package-path Benchmarks --scratch-path Benchmarks/.build/static)
swift build "${flags[@]}" --product nio-floor
strip -o Benchmarks/.build/nio-floor "$(swift build "${flags[@]}" --show-bin-path)/nio-floor"
