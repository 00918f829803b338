#!/usr/bin/env bash
# Builds this package or the integration tests: build.sh root|integration [OPTION OF swift build]…
#
# Both share the folder .build. SwiftPM compiles all modules again after a change between the two packages, if it passes their traits in
# different orders. It takes the order from sets of names, so these traits are specified in ways that give the same order: all traits here,
# an explicit default in Package.swift, and only Offline in Examples/Package.swift. `make check` compares the orders; if they differ,
# try other ways. SwiftPM 6.4 sorts the traits.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:?usage: build.sh root|integration [OPTION OF swift build]…} in
root) package=(--enable-all-traits) ;;
integration) package=(--package-path IntegrationTests --scratch-path .build) ;;
*)
    echo "root or integration, not $1" >&2
    exit 64
    ;;
esac
shift

# shellcheck source=Scripts/debug-flags.sh
source Scripts/debug-flags.sh
# With --explicit-target-dependency-import-check, an import of a module that is not a dependency of the target is an error. The build thus
# enforces the direction of the modules.
# shellcheck disable=SC2154
exec "${SWIFT:-swift}" build "${package[@]}" --explicit-target-dependency-import-check error "${flags[@]}" "$@"
