#!/usr/bin/env bash
# To be sourced: sets the `flags` of debug builds. All builds in .build need the same flags, because SwiftPM compiles all modules again after
# a change of flags. Without debug information for lldb, the builds take less time.
# shellcheck disable=SC2034

# SwiftPM before 6.4 passes the enabled traits to the compiler in the order of a set. Without this variable the order differs in each run,
# and each run compiles all modules again (https://github.com/swiftlang/swift-package-manager/issues/10525).
export SWIFT_DETERMINISTIC_HASHING=1

flags=(-debug-info-format none)
# With WHOLE_MODULES=yes, a build from scratch takes less processor time, but a build after a change of one file takes more. The index of the
# tests needs an output file for each source file, and so at least one thread.
if [[ ${WHOLE_MODULES:-} == yes ]]; then
    flags+=(-Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 2 -Xswiftc -disable-batch-mode)
fi
