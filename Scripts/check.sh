#!/usr/bin/env bash
# Makes the checks that need no test run: format and documentation comments, documentation pages, shell scripts, public
# API, SECURITY.md, the installed files, what users see, and the speed.
set -euo pipefail
cd "$(dirname "$0")/.."

# section TITLE: prints the elapsed time and the next check.
section() { printf '== %3d s  %s\n' "$SECONDS" "$1"; }

section "format, and a comment on every public declaration"
swift format lint --strict --recursive --parallel \
    Package.swift Sources Tests Verification Examples IntegrationTests \
    Benchmarks/Package.swift Benchmarks/Sources Benchmarks/Benchmarks

section "shell scripts"
git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck

section "warnings, and imports of undeclared dependencies"
Scripts/build.sh root --build-tests

# traits: the first three adjacent traits in the build description.
traits() { grep -oEm1 '("-D(Offline|Signatures|TPM)",){3}' .build/debug.yaml; }
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

section "each test that SECURITY.md names exists"
python3 -B Scripts/security_tests.py

section "documentation: its code and commands match the sources"
Scripts/snippets.py
Scripts/commands_page.py "$(Scripts/build.sh root --show-bin-path)/account"

section "the installed files"
Scripts/release.sh static .build/release-static
export RELEASE_IS_BUILT=yes

# These checks wait for the network, for other programs, or for one compiler, so they run in parallel. Their output is printed when
# all have ended. A file records that a check has passed.
beside=$(mktemp -d)
trap 'rm -rf "$beside"' EXIT
names=()
# apart NAME: runs the function NAME in the background.
apart() {
    names+=("$1")
    {
        "$1"
        touch "$beside/$1.passed"
    } >"$beside/$1.log" 2>&1 &
}

pages() {
    section "documentation pages: no broken links"
    python3 -B Scripts/file_links.py
    Scripts/docs.sh .build/documentation "$graphs"
    section "pictures of terminals and of the documentation, in .build/artefacts/screens"
    Scripts/screens.sh .build/artefacts/screens "$(Scripts/build.sh root --show-bin-path)"
}

dependencies() {
    section "dependencies that require a trait"
    Verification/Install/traits.sh
}

installed() {
    section "installing and uninstalling"
    Verification/Install/check.sh
}

package() {
    section "the Debian package, on a machine without Swift"
    Verification/Install/deb.sh
}

containers() {
    section "the manifests for Kubernetes, and the programs in their containers"
    Verification/Install/kubernetes.sh
}

speed() {
    section "speed, size and memory"
    Scripts/speed.sh check
}

for name in pages dependencies installed package containers speed; do apart "$name"; done
wait

failed=()
for name in "${names[@]}"; do
    cat "$beside/$name.log"
    [[ -e $beside/$name.passed ]] || failed+=("$name")
done
((${#failed[@]} == 0)) || {
    echo "FAILED: ${failed[*]}" >&2
    exit 1
}
