#!/usr/bin/env bash
# The manifests of Examples/kubernetes are what Kubernetes takes, and their containers work: each is started as it would be there, in
# nothing but what the Containerfile copies, against an etcd cluster over TLS with users.
set -euo pipefail
cd "$(dirname "$0")/../.."

Scripts/release.sh static .build/release-static
build=(swift build --quiet --package-path Examples --scratch-path .build --explicit-target-dependency-import-check error)
"${build[@]}" --product auth-server
products=$("${build[@]}" --show-bin-path)
Examples/Tests/EndToEndTests/Fixtures/prepare.sh .build/kubernetes-python Tests/Install/kubernetes/requirements.txt kubernetes_validate yaml

# A network of its own, where the names of the manifests can be given addresses; and mounts that end with it.
sudo=()
if ((EUID != 0)); then sudo=(sudo); fi
"${sudo[@]}" unshare --mount --net .build/kubernetes-python/bin/python -B Tests/Install/kubernetes/check.py \
    --account .build/release-static/bin/account --auth-server "$products/auth-server"
