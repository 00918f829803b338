#!/usr/bin/env bash
# Makes the checks that need no test run: format and documentation comments, imports, documentation pages, shell scripts, public API,
# security claims and the installed files.
set -euo pipefail
cd "$(dirname "$0")/.."
Scripts/bootstrap.sh check

# section TITLE: prints the elapsed time and the next check.
section() { printf '== %3d s  %s\n' "$SECONDS" "$1"; }

section "format, and a comment on every public declaration"
swift format lint --strict --recursive --parallel \
    Package.swift Sources Tests Verification Examples IntegrationTests \
    Benchmarks/Package.swift Benchmarks/Sources

section "shell scripts"
git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck

section "warnings, and imports of undeclared dependencies"
Scripts/build.sh root --build-tests

# traits: the first two adjacent traits in the build description.
traits() { grep -oEm1 '("-D(Offline|Signatures)",){2}' .build/debug.yaml; }
root=$(traits)

section "public API: as recorded, and without types of dependencies"
graphs=$(Scripts/symbol_graphs.sh)
Scripts/public_api.py --graphs "$graphs"

section "both packages pass the traits in the same order"
Scripts/build.sh integration --quiet --product auth-server
[[ $(traits) == "$root" ]] || {
    echo "Each change between the packages compiles all modules again: see Scripts/build.sh." >&2
    exit 1
}

section "each security claim has tests, and SECURITY.md is short"
python3 -B Scripts/claims.py

section "documentation: its code and commands match the sources"
Scripts/snippets.py
Scripts/commands_page.py "$(Scripts/build.sh root --show-bin-path)/account"

section "documentation pages: no broken links"
python3 -B Scripts/file_links.py
Scripts/docs.sh .build/documentation "$graphs"

section "installing and uninstalling the debug build"
Verification/Install/check.sh debug
for product in gists homepwner; do Scripts/build.sh integration --quiet --product "$product"; done
Verification/Install/examples.sh "$(Scripts/build.sh integration --show-bin-path)"
Verification/Install/traits.sh
section "done"
