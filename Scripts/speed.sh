#!/usr/bin/env bash
# Counts the instructions of the installed command and of two release builds: speed.sh check|update. See speed.py.
# `speed.sh order` lists the functions that these commands run, for the linker. See symbol_order.py.
set -euo pipefail
cd "$(dirname "$0")/.."
# Package.swift then contains speed-exerciser.
export ACCOUNTKIT_VERIFY=1

task=${1:?usage: speed.sh check|update|order}
Scripts/release.sh static .build/release-static
# shellcheck source=Scripts/release-flags.sh
source Scripts/release-flags.sh static
# shellcheck disable=SC2154
products=$("${SWIFT:-swift}" build "${flags[@]}" --show-bin-path)
for product in speed-exerciser snippet-notes; do
    "${SWIFT:-swift}" build "${flags[@]}" --product "$product"
    strip -o "$scratch/$product" "$products/$product"
done
if [[ $task == order ]]; then
    Scripts/symbol_order.py "$products"/{account,speed-exerciser,snippet-notes}
    # The build does not link again if only the list has changed.
    rm "$products/account"
    exit
fi
Scripts/speed.py "$task" .build/release-static/bin/account "$scratch"/{speed-exerciser,snippet-notes}
