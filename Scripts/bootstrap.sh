#!/usr/bin/env bash
# Installs the missing packages of a task: bootstrap.sh build|install|deb|demo|picture|fleet|docs|test|faults|fuzz|speed|bench|check
#
# It installs only Debian packages. The Swift toolchain must already be installed.
set -euo pipefail

task=${1:?usage: bootstrap.sh build|install|deb|demo|picture|fleet|docs|test|faults|fuzz|speed|bench|check}

# Each element consists of a package, and a file or command of the package. The list is selected by name below.
# shellcheck disable=SC2034
release=(libsodium-dev:/usr/include/sodium.h libsqlite3-dev:/usr/include/sqlite3.h pkg-config:pkg-config)
# shellcheck disable=SC2034
build=("${release[@]}" libtss2-dev:/usr/include/tss2/tss2_esys.h)
# shellcheck disable=SC2034
install=("${release[@]}" binutils:strip python3:python3)
# shellcheck disable=SC2034
deb=("${install[@]}" dpkg:dpkg-deb)
# shellcheck disable=SC2034
demo=("${build[@]}" curl:curl python3:python3)
# shellcheck disable=SC2034
picture=("${demo[@]}" tmux:tmux git:git)
# shellcheck disable=SC2034
fleet=("${demo[@]}" etcd-server:etcd etcd-client:etcdctl)
# shellcheck disable=SC2034
docs=("${build[@]}" python3:python3)
# shellcheck disable=SC2034
test=("${fleet[@]}" python3-venv:/usr/share/doc/python3-venv strace:strace openssl:openssl procps:ps util-linux:unshare qrencode:qrencode chromium:chromium chromium-driver:chromedriver gdb:gcore gcc:gcc tinyproxy-bin:tinyproxy gnome-keyring:gnome-keyring-daemon libsecret-tools:secret-tool dbus:dbus-run-session pass:pass gnupg:gpg iproute2:ip dbconfig-sqlite3:/usr/share/doc/dbconfig-sqlite3 glewlwyd:glewlwyd liblemonldap-ng-portal-perl:/usr/share/lemonldap-ng/portal libstring-random-perl:/usr/share/doc/libstring-random-perl libio-string-perl:/usr/share/doc/libio-string-perl starman:starman bash-completion:/usr/share/bash-completion/bash_completion mandoc:mandoc git:git skopeo:skopeo docker-registry:docker-registry apache2-utils:htpasswd dovecot-submissiond:/usr/lib/dovecot/submission msmtp:msmtp swtpm:swtpm swtpm-tools:swtpm_setup tpm2-tools:tpm2_unseal)
# shellcheck disable=SC2034
faults=("${fleet[@]}" gcc:gcc libc6-dev:/usr/include/stdlib.h strace:strace util-linux:unshare iproute2:ip openssl:openssl)
# shellcheck disable=SC2034
fuzz=("${release[@]}")
# shellcheck disable=SC2034
speed=("${install[@]}" time:/usr/bin/time valgrind:valgrind)
# shellcheck disable=SC2034
check=("${speed[@]}" "${build[@]}" python3-venv:/usr/share/doc/python3-venv etcd-server:etcd etcd-client:etcdctl openssl:openssl iproute2:ip ca-certificates:/etc/ssl/certs/ca-certificates.crt shellcheck:shellcheck bash-completion:/usr/share/bash-completion/bash_completion mandoc:mandoc groff-base:groff util-linux:unshare systemd:systemd-analyze mmdebstrap:mmdebstrap lintian:lintian tmux:tmux chromium:chromium fonts-dejavu-core:/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf)
# Includes the programs that AccountKit is compared with.
# shellcheck disable=SC2034
bench=("${install[@]}" "${build[@]}" swtpm:swtpm gcc:gcc libc6-dev:/usr/include/stdlib.h python3-venv:/usr/share/doc/python3-venv hyperfine:hyperfine age:age pass:pass gnupg:gpg libsecret-tools:secret-tool gnome-keyring:gnome-keyring-daemon dbus-daemon:dbus-daemon libglib2.0-bin:gdbus gh:gh sqlite3:sqlite3 git:git git-credential-oauth:git-credential-oauth oidc-agent-cli:oidc-token etcd-server:etcd etcd-client:etcdctl)

command -v swift >/dev/null || {
    echo "No Swift toolchain found: install Swift 6.2 or later from https://www.swift.org/install" >&2
    exit 1
}
[[ $(uname -s) == Linux ]] || {
    echo "This is not Debian: install the packages for '${task}' by hand" >&2
    exit 0
}

declare -n wanted=$task
missing=()
for line in "${wanted[@]}"; do
    package=${line%%:*} witness=${line#*:}
    if [[ $witness == /* ]]; then
        [[ -e $witness ]] || missing+=("$package")
    else
        command -v "$witness" >/dev/null || missing+=("$package")
    fi
done
((${#missing[@]})) || exit 0

sudo=()
if ((EUID != 0)); then
    command -v sudo >/dev/null || {
        echo "Install these as root, or install sudo: ${missing[*]}" >&2
        exit 1
    }
    sudo=(sudo)
fi
echo "Installing ${missing[*]}" >&2
"${sudo[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
