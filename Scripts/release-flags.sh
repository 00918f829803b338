#!/usr/bin/env bash
# To be sourced: `release-flags.sh static|portable` sets `scratch`, the folder of a release build, its `flags`, and the
# `nested_flags` of packages that depend on this package and have no traits.
# shellcheck disable=SC2034

# Without this variable, each build of a package with several traits compiles all modules again; see debug-flags.sh.
export SWIFT_DETERMINISTIC_HASHING=1

# Each function gets a separate section, so that the linker can merge identical functions, and drop the functions of C libraries that
# the program does not call. Types are created from the compiler's metadata.
# If they were created by name, the runtime would search all conformances of the program for each type.
# The C libraries need no unwind tables: no exception passes through them.
flags=(
    -c release --explicit-target-dependency-import-check error -debug-info-format none
    -Xswiftc -use-ld=lld -Xswiftc -Osize
    -Xswiftc -Xfrontend -Xswiftc -function-sections
    -Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors
    -Xlinker --icf=all
    -Xcc -ffunction-sections -Xcc -fdata-sections
    -Xcc -fno-asynchronous-unwind-tables -Xcc -fno-unwind-tables -Xcxx -fno-exceptions
)
case $1 in
static)
    scratch=.build/install
    # The start-up code of a static executable registers its unwind tables if these functions exist. dispatchMain() ends the main thread,
    # and the unwinder then sorts the registered tables, which takes tens of milliseconds. If the addresses of both functions are 0,
    # nothing is registered, and the unwinder uses the sorted index that the linker wrote (.eh_frame_hdr).
    flags+=(
        -Xswiftc -static-executable
        -Xlinker --defsym=__register_frame_info=0 -Xlinker --defsym=__deregister_frame_info=0
    )
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
# On systems other than Linux, Swift and the C library are part of the system.
if [[ $(uname -s) != Linux ]]; then flags=(-c release --explicit-target-dependency-import-check error); fi
nested_flags=("${flags[@]}")
flags+=(--traits Signatures --scratch-path "$scratch")
# The functions that short commands run, side by side; `make speed-order` writes the list.
if [[ $(uname -s) == Linux && -f Scripts/symbol-order.txt ]]; then
    flags+=(-Xlinker "--symbol-ordering-file=$PWD/Scripts/symbol-order.txt" -Xlinker --no-warn-symbol-ordering)
fi
