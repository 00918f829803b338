#!/usr/bin/env bash
# Counts what the release build costs: speed.sh check|update. See speed.py.
set -euo pipefail
cd "$(dirname "$0")/.."

task=${1:?usage: speed.sh check|update}
# shellcheck source=Scripts/release-flags.sh
source Scripts/release-flags.sh static
# shellcheck disable=SC2154
products=$(swift build "${flags[@]}" --show-bin-path)
# shellcheck disable=SC2154
account=$scratch/account exerciser=$scratch/speed-exerciser

build() {
    swift build "${flags[@]}" --product account
    strip -o "$account" "$products/account"
}

swift build "${flags[@]}" --product speed-exerciser
strip -o "$exerciser" "$products/speed-exerciser"
build
if [[ $task == update ]]; then
    # With the names of functions, and without the debug information that Valgrind cannot read.
    objcopy --strip-debug "$products/account" "$account-named"
    Scripts/speed.py order "$account-named" "$exerciser"
    build
fi
Scripts/speed.py "$task" "$account" "$exerciser"
