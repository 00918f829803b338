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

section "documentation pages: no link leads nowhere"
python3 -B Scripts/file_links.py
Scripts/docs.sh .build/documentation

section "dependencies that come with a trait only"
Tests/Install/traits.sh

section "installing and uninstalling"
Tests/Install/check.sh

section "the Debian package, on a machine without Swift"
Tests/Install/deb.sh

section "the manifests for Kubernetes, and what runs in their containers"
Tests/Install/kubernetes.sh

section "manual pages and completions of the tools in Examples"
Tests/Install/examples.sh

section "speed, size and memory"
Scripts/speed.sh check
