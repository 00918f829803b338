#!/usr/bin/env bash
# Creates the symbol graphs of the public API of all modules, and prints their folder.
set -euo pipefail
cd "$(dirname "$0")/.."

# The traits and the flags of build.sh, so that no module is compiled again.
# shellcheck source=Scripts/debug-flags.sh
source Scripts/debug-flags.sh
# shellcheck disable=SC2154
command=("${SWIFT:-swift}" package --enable-all-traits "${flags[@]}" dump-symbol-graph --minimum-access-level public)
# Ignore the exit code: it reports that the test bundle has no symbols, as expected.
graphs=$({ "${command[@]}" 2>&1 || true; } | sed -n 's/^Files written to //p' | tail -n 1)
[[ -d $graphs ]] || {
    echo "cannot create the symbol graphs: run \`${command[*]}\` to see why" >&2
    exit 1
}
echo "$graphs"
