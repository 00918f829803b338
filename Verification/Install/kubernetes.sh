#!/usr/bin/env bash
# Checks that Kubernetes accepts the manifests of Examples/kubernetes, and that their containers work: each one is started like
# in a pod, with only the files that the Containerfile copies, against an etcd cluster over TLS with users. Needs the debug build of
# auth-server.
set -euo pipefail
cd "$(dirname "$0")/../.."

Scripts/release.sh static .build/release-static
products=$(Scripts/build.sh integration --show-bin-path)
IntegrationTests/Fixtures/prepare.sh .build/kubernetes-python Verification/Install/kubernetes/requirements.txt kubernetes_validate yaml

# A private network namespace, where the host names of the manifests have addresses, and mounts that end with it.
sudo=()
if ((EUID != 0)); then sudo=(sudo); fi
"${sudo[@]}" unshare --mount --net .build/kubernetes-python/bin/python -B Verification/Install/kubernetes/check.py \
    --account .build/release-static/bin/account --auth-server "$products/auth-server"
