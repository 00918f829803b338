#!/usr/bin/env bash
# Runs the parts of `make verify`, and prints the time of each: verify.sh [PART]… (default: all), or verify.sh --since REVISION for the
# parts that guard what has changed since then, by the table in CONTRIBUTING.md.
#
# A part fails if it runs no test.
set -euo pipefail
cd "$(dirname "$0")/.."
# Package.swift then contains the tests and programs of the parts.
export ACCOUNTKIT_VERIFY=1
# If all tests ran at once, some would wait longer for their turn than their timeout for a lock.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=16
swift=${SWIFT:-swift}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# MARK: The parts

parts=(servers peers clusters processes simulation faults threads fuzz installed packages pictures benchmarks)

# counted COMMAND…: runs tests, and fails if no test ran. `swift test` itself succeeds if no test matches its filter.
counted() {
    "$@" 2>&1 | tee "$log"
    Scripts/count_tests.sh "$log"
}

# root_tests TARGETS, integration_tests TARGET…: runs the tests of targets.
root_tests() {
    Scripts/build.sh root --build-tests
    counted "$swift" test --enable-all-traits --skip-build --filter "^($1)\\."
}
integration_tests() {
    Scripts/build.sh integration --build-tests
    counted "$swift" test --package-path IntegrationTests --scratch-path .build --skip-build --filter "^$1\\." "${@:2}"
}

# Servers that this project did not write, other programs, and a browser.
servers() {
    integration_tests ServerTests --xunit-output .build/servers.xml
    Scripts/services.py .build/servers-swift-testing.xml
}

# Other OAuth clients, which are asked the same as `account`. Writes the table in the article Services.
peers() {
    Scripts/build.sh root --product account
    Scripts/build.sh integration --product auth-server
    IntegrationTests/Fixtures/prepare.sh .build/peers-python Verification/Peers/requirements.txt \
        authlib huggingface_hub mcp msal requests_oauthlib
    .build/peers-python/bin/python -B Verification/Peers/peers.py --build "$(Scripts/build.sh root --show-bin-path)"
}

# Sessions in etcd clusters. Their leases expire if a busy machine sends keep-alives too late, so few of the tests run at a time.
clusters() {
    SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=2 root_tests AccountFleetSystemTests
    integration_tests ClusterTests
}

# Storms of processes, system calls, memory, keys in other programs, the format in Python, the demo with etcd, and randomized tests with
# all of their seeds.
processes() {
    root_tests 'AccountKitSystemTests|AccountDocumentsTests|AccountOfflineTests|ReaderTests'
    integration_tests ProcessTests
}

simulation() { Verification/Simulation/run.sh 20000; }

faults() {
    Scripts/build.sh root --product account
    Scripts/build.sh root --product archive-exerciser
    Scripts/build.sh root --product offline-exerciser
    Scripts/build.sh integration --product auth-server
    python3 -B Verification/Faults/faults.py --build "$(Scripts/build.sh root --show-bin-path)"
}

threads() { counted Verification/Threads/run.sh; }

fuzz() { Verification/Fuzz/run.sh 5; }

# The command that `make install` installs: its files, the end-to-end tests, size and speed.
installed() {
    Verification/Install/check.sh
    INSTALLED_ACCOUNT=$PWD/.build/release-static/bin/account integration_tests EndToEndTests
    Scripts/speed.sh check
}

# The Debian package, and the manifests for Kubernetes.
packages() {
    Scripts/build.sh integration --product auth-server
    Verification/Install/deb.sh
    Verification/Install/kubernetes.sh
}

# Pictures of terminals and of the documentation, in .build/artefacts/screens.
pictures() {
    Scripts/build.sh integration --build-tests
    Scripts/docs.sh .build/documentation
    Scripts/screens.sh .build/artefacts/screens "$(Scripts/build.sh integration --show-bin-path)"
}

# Each benchmark once, with the smallest sizes. It fails if it does not run, or if a compared program prints something unexpected.
benchmarks() { Benchmarks/run.sh --short; }

# MARK: Their selection

# guards FILE: prints the parts that guard a file, by the longest folder of the table that contains the file.
guards() {
    awk -F '|' -v file="$1" '
        /^\| folder / { inside = 1; next }
        !/^\|/ { inside = 0 }
        inside && $2 ~ /`/ {
            split($2, folders, "`")
            for (at = 2; at in folders; at += 2) if (index(file, folders[at]) == 1 && length(folders[at]) > length(longest)) {
                longest = folders[at]; found = $3
            }
        }
        END { gsub(/`|,/, "", found); print found }' CONTRIBUTING.md
}

selected=("${parts[@]}")
if [[ ${1:-} == --since ]]; then
    revision=$(git rev-parse --verify --quiet "${2:?usage: verify.sh --since REVISION}^{commit}") || {
        echo "there is no revision $2" >&2
        exit 64
    }
    [[ $(guards Package.swift) == *all* ]] || {
        echo "CONTRIBUTING.md has no table of folders and parts" >&2
        exit 1
    }
    needed=" "
    while read -r file; do needed+="$(guards "$file") "; done < <(
        git diff --no-renames --name-only "$revision" -- ':!*.md'
        git ls-files --others --exclude-standard -- ':!*.md'
    )
    selected=()
    for part in "${parts[@]}"; do
        if [[ $needed == *" $part "* || $needed == *" all "* ]]; then selected+=("$part"); fi
    done
    echo "since $2: ${selected[*]:-nothing to verify}"
elif (($#)); then
    selected=("$@")
fi
for part in "${selected[@]}"; do
    [[ " ${parts[*]} " == *" $part "* ]] || {
        echo "there is no part $part; the parts are ${parts[*]}" >&2
        exit 64
    }
done

failed=()
times=()
for part in "${selected[@]}"; do
    echo "== $part"
    start=$SECONDS status=0
    # In a condition, `set -e` would be off inside of the function.
    {
        Scripts/bootstrap.sh "$part"
        "$part"
    } &
    wait $! || status=$?
    times+=("$(printf '%5d s  %s%s' $((SECONDS - start)) "$part" "$( ((status == 0)) || echo ' FAILED')")")
    ((status == 0)) || failed+=("$part")
done
((${#times[@]})) && printf '%s\n' "${times[@]}"
if ((${#failed[@]})); then
    echo "FAILED: ${failed[*]}" >&2
    exit 1
fi
