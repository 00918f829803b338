#!/usr/bin/env bash
# Checks that GRDB is fetched only if the trait `Offline` is enabled.
set -euo pipefail
cd "$(dirname "$0")/../.."

package=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# dependent NAME TRAITS: creates a package that depends on this one, and prints how many of its dependencies are GRDB.
dependent() {
    mkdir -p "$work/$1/Sources/dependent"
    echo 'import AccountKit' >"$work/$1/Sources/dependent/main.swift"
    cat >"$work/$1/Package.swift" <<END
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
    name: "dependent", platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-account-kit", path: "$package"$2)],
    targets: [.executableTarget(name: "dependent", dependencies: [.product(name: "AccountKit", package: "swift-account-kit")])])
END
    swift package --package-path "$work/$1" resolve >"$work/$1.log" 2>&1 || {
        cat "$work/$1.log" >&2
        return 1
    }
    grep -ci grdb "$work/$1/Package.resolved" || (($? == 1))
}

without=$(dependent without '')
with=$(dependent with ', traits: ["Offline"]')
((without == 0)) || {
    echo "A package that leaves the trait off fetches GRDB." >&2
    exit 1
}
((with > 0)) || {
    echo "A package that switches the trait on does not get GRDB, so this check says nothing." >&2
    exit 1
}
