#!/usr/bin/env bash
# Makes the documentation: docs.sh FOLDER. A warning, such as a link that leads nowhere, is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

output=${1:?usage: docs.sh FOLDER}
mkdir -p "$output"
# Its exit code says that the test bundle has no symbols, which is as it should be.
graphs=$({ swift package dump-symbol-graph --minimum-access-level public 2>&1 || true; } | sed -n 's/^Files written to //p' | tail -n 1)
[[ -d $graphs ]] || {
    echo "the symbol graphs cannot be made: run \`swift package dump-symbol-graph\` and see" >&2
    exit 1
}

for module in AccountKit AccountHTTP AccountCommands AccountImport AccountTesting; do
    own=$(mktemp -d)
    cp "$graphs/$module".symbols.json "$own"
    for extension in "$graphs/$module"@*.symbols.json; do
        if [[ -e $extension ]]; then cp "$extension" "$own"; fi
    done
    catalog=Sources/$module/$module.docc
    arguments=(--additional-symbol-graph-dir "$own" --output-path "$output/$module" --warnings-as-errors
        --fallback-display-name "$module" --fallback-bundle-identifier "$module")
    if [[ -d $catalog ]]; then arguments=("$catalog" "${arguments[@]}"); fi
    docc convert "${arguments[@]}"
    rm -rf "$own"
    echo "$output/$module"
done
