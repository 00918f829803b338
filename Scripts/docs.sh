#!/usr/bin/env bash
# Builds the documentation of all modules as one site: docs.sh FOLDER [GRAPHS]. A warning, such as a broken link, is an error.
# GRAPHS is the folder that symbol_graphs.sh printed; without it, this script creates the symbol graphs.
set -euo pipefail
cd "$(dirname "$0")/.."

output=${1:?usage: docs.sh FOLDER [GRAPHS]}
# Modules that other modules link to come first: a link can only refer to a module that is already built.
modules=(AccountKit AccountTesting AccountHTTP AccountFleet AccountDocuments AccountOffline AccountCommands AccountHelpers)
graphs=${2:-$(Scripts/symbol_graphs.sh)}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archives=() dependencies=()
for module in "${modules[@]}"; do
    mkdir -p "$work/graphs/$module" "$work/catalogs"
    cp "$graphs/$module".symbols.json "$work/graphs/$module"
    for extension in "$graphs/$module"@*.symbols.json; do
        if [[ -e $extension ]]; then cp "$extension" "$work/graphs/$module"; fi
    done
    archive=$work/$module.doccarchive
    # Articles link to each other by file, as a code host needs it.
    python3 -B Scripts/doc_links.py "Sources/$module/$module.docc" "$work/catalogs/$module.docc"
    docc convert "$work/catalogs/$module.docc" --additional-symbol-graph-dir "$work/graphs/$module" --output-path "$archive" \
        --fallback-display-name "$module" --fallback-bundle-identifier "$module" --fallback-default-module-kind Module \
        --warnings-as-errors \
        --enable-experimental-external-link-support "${dependencies[@]}"
    archives+=("$archive") dependencies+=(--dependency "$archive")
done

rm -rf "$output"
docc merge "${archives[@]}" --output-path "$output" \
    --synthesized-landing-page-name "AccountKit" --synthesized-landing-page-kind "Sign-in that lasts" \
    --synthesized-landing-page-topics-style list

# Pages also link to pages of later modules, which the compiler cannot check.
python3 -B Scripts/site_links.py "$output"
echo "$output"
