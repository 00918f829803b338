#!/usr/bin/env bash
# For those who source it: release-flags.sh static|portable sets `scratch`, the folder of a release build, and its `flags`.
# shellcheck disable=SC2034

# Each function in a section of its own, so that the linker keeps one of those that are the same. And types are made from what the compiler knows of them: by their names, the runtime would
# look through all conformances of the program for each.
flags=(
    -c release --explicit-target-dependency-import-check error
    -Xswiftc -use-ld=lld -Xswiftc -Osize
    -Xswiftc -Xfrontend -Xswiftc -function-sections
    -Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors
    -Xlinker --icf=all
)
case $1 in
static)
    scratch=.build/install
    flags+=(-Xswiftc -static-executable)
    ;;
portable)
    scratch=.build/install-portable
    flags+=(--static-swift-stdlib)
    ;;
*)
    echo "static or portable, not $1" >&2
    exit 64
    ;;
esac
# Elsewhere than on Linux, Swift and the C library are parts of the system.
if [[ $(uname -s) != Linux ]]; then flags=(-c release --explicit-target-dependency-import-check error); fi
flags+=(--scratch-path "$scratch")
