#!/usr/bin/env bash
# Builds this package or the integration tests: build.sh root|integration [OPTION OF swift build]…
#
# Both share the folder .build. All debug builds in this folder need the same options, because SwiftPM compiles all modules again after a
# change of options. It also does so after a change between the two packages, because it passes their traits in different orders. Without
# debug information for lldb, the builds take less time.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:?usage: build.sh root|integration [OPTION OF swift build]…} in
root) package=(--traits "Offline,Signatures,TPM") ;;
integration) package=(--package-path IntegrationTests --scratch-path .build) ;;
*)
    echo "root or integration, not $1" >&2
    exit 64
    ;;
esac
shift

# SwiftPM before 6.4 passes the enabled traits to the compiler in the order of a set. Without this variable the order differs in each run,
# and each run compiles all modules again (https://github.com/swiftlang/swift-package-manager/issues/10525).
export SWIFT_DETERMINISTIC_HASHING=1
# With --explicit-target-dependency-import-check, an import of a module that is not a dependency of the target is an error. The build thus
# enforces the direction of the modules.
exec "${SWIFT:-swift}" build "${package[@]}" --explicit-target-dependency-import-check error -debug-info-format none "$@"
