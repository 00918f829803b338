#!/usr/bin/env bash
# The checks that need no test run: format and documentation comments, documentation pages, shell scripts, public API,
# SECURITY.md, what is installed, and how fast that is.
set -euo pipefail
cd "$(dirname "$0")/.."

# section TITLE: what comes now, and when.
section() { printf '== %3d s  %s\n' "$SECONDS" "$1"; }

section "format, and a comment on everything public"
swift format lint --strict --recursive --parallel \
    Package.swift Sources Tests Examples/Package.swift Examples/Sources Examples/Tests \
    Benchmarks/Package.swift Benchmarks/Sources Benchmarks/Benchmarks

section "shell scripts"
git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck

section "plain English: no more odd turns of phrase than before"
python3 -B Scripts/prose.py --ratchet Scripts/prose-limit

section "warnings, and imports of modules that are not depended on"
swift build --traits Offline --explicit-target-dependency-import-check error --build-tests

section "public API: as recorded, and without types of dependencies"
Scripts/public_api.py

section "each test that SECURITY.md names is there"
python3 -B Scripts/security_tests.py

section "documentation: its code is compiled code, its commands are the commands, its states are the states"
Scripts/snippets.py
Scripts/commands_page.py "$(swift build --traits Offline --show-bin-path)/account"
Scripts/session_life.py

# These wait for the network, for other programs, or for one compiler, so they go on side by side. What they say is said when all
# have ended, and a file says that one ended well.
beside=$(mktemp -d)
trap 'rm -rf "$beside"' EXIT
names=()
# apart NAME: the function NAME, beside the rest.
apart() {
    names+=("$1")
    {
        "$1"
        touch "$beside/$1.passed"
    } >"$beside/$1.log" 2>&1 &
}

pages() {
    section "documentation pages: no link leads nowhere"
    python3 -B Scripts/file_links.py
    Scripts/docs.sh .build/documentation
    section "dependencies that come with a trait only"
    Tests/Install/traits.sh
    section "manual pages and completions of the tools in Examples"
    Tests/Install/examples.sh
}

installed() {
    section "installing and uninstalling"
    Tests/Install/check.sh
}

package() {
    section "the Debian package, on a machine without Swift"
    Tests/Install/deb.sh
}

containers() {
    section "the manifests for Kubernetes, and what runs in their containers"
    Tests/Install/kubernetes.sh
}

for name in pages installed package containers; do apart "$name"; done
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

section "speed, size and memory"
Scripts/speed.sh check
