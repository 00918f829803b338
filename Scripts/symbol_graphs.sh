#!/usr/bin/env bash
# Creates the symbol graphs of the public API of all modules, and prints their folder.
set -euo pipefail
cd "$(dirname "$0")/.."

# Without this variable, each build compiles all modules again; see Makefile.
export SWIFT_DETERMINISTIC_HASHING=1
command=(swift package --traits "Offline,Signatures,TPM" dump-symbol-graph --minimum-access-level public)
# Ignore the exit code: it reports that the test bundle has no symbols, as expected.
graphs=$({ "${command[@]}" 2>&1 || true; } | sed -n 's/^Files written to //p' | tail -n 1)
[[ -d $graphs ]] || {
    echo "cannot create the symbol graphs: run \`${command[*]}\` to see why" >&2
    exit 1
}
echo "$graphs"
