#!/usr/bin/env bash
# Installs the missing Debian packages of a task: bootstrap.sh TASK. The Swift toolchain must already be installed.
#
# Where apt-get is missing, the script only names the packages.
set -euo pipefail

task=${1:?usage: bootstrap.sh TASK}

# Each element consists of a package, and a file or command of the package. The list is selected by name below.
# shellcheck disable=SC2034
{
    release=(libsodium-dev:/usr/include/sodium.h pkg-config:pkg-config)
    build=("${release[@]}" libsqlite3-dev:/usr/include/sqlite3.h)
    install=("${release[@]}" binutils:strip python3:python3)
    deb=("${install[@]}" dpkg:dpkg-deb)
    demo=("${build[@]}" curl:curl python3:python3)
    fleet=("${demo[@]}" etcd-server:etcd etcd-client:etcdctl)
    picture=("${demo[@]}" tmux:tmux git:git)
    docs=("${build[@]}" python3:python3)

    test=("${demo[@]}" git:git iproute2:ip openssl:openssl procps:ps strace:strace)
    check=("${test[@]}" bash-completion:/usr/share/bash-completion/bash_completion groff-base:groff mandoc:mandoc
        shellcheck:shellcheck)

    # The parts of `make verify`.
    servers=("${test[@]}" python3-venv:/usr/share/doc/python3-venv chromium:chromium chromium-driver:chromedriver
        tinyproxy-bin:tinyproxy dbconfig-sqlite3:/usr/share/doc/dbconfig-sqlite3 glewlwyd:glewlwyd
        liblemonldap-ng-portal-perl:/usr/share/lemonldap-ng/portal libstring-random-perl:/usr/share/doc/libstring-random-perl
        libio-string-perl:/usr/share/doc/libio-string-perl starman:starman skopeo:skopeo docker-registry:docker-registry
        apache2-utils:htpasswd dovecot-submissiond:/usr/lib/dovecot/submission msmtp:msmtp)
    peers=("${test[@]}" python3-venv:/usr/share/doc/python3-venv gh:gh oidc-agent-cli:oidc-token)
    clusters=("${test[@]}" etcd-server:etcd etcd-client:etcdctl)
    processes=("${clusters[@]}" gdb:gcore gnome-keyring:gnome-keyring-daemon libsecret-tools:secret-tool
        dbus:dbus-run-session pass:pass gnupg:gpg swtpm:swtpm tpm2-tools:tpm2_unseal
        systemd:systemd-creds)
    simulation=("${release[@]}")
    faults=("${fleet[@]}" gcc:gcc libc6-dev:/usr/include/stdlib.h strace:strace iproute2:ip)
    threads=("${release[@]}" python3:python3)
    fuzz=("${release[@]}")
    speed=("${install[@]}" time:/usr/bin/time valgrind:valgrind)
    installed=("${speed[@]}" "${check[@]}")
    packages=("${check[@]}" binutils:strip dpkg:dpkg-deb etcd-server:etcd etcd-client:etcdctl lintian:lintian
        mmdebstrap:mmdebstrap python3-venv:/usr/share/doc/python3-venv ca-certificates:/etc/ssl/certs/ca-certificates.crt)
    pictures=("${test[@]}" tmux:tmux chromium:chromium fonts-dejavu-core:/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf)
    # Includes the programs that AccountKit is compared with.
    benchmarks=("${install[@]}" "${build[@]}" gcc:gcc libc6-dev:/usr/include/stdlib.h time:/usr/bin/time hyperfine:hyperfine age:age
        pass:pass gnupg:gpg libsecret-tools:secret-tool gnome-keyring:gnome-keyring-daemon dbus-daemon:dbus-daemon
        libglib2.0-bin:gdbus gh:gh sqlite3:sqlite3 git:git git-credential-oauth:git-credential-oauth
        oidc-agent-cli:oidc-token etcd-server:etcd)
}

command -v swift >/dev/null || {
    echo "No Swift toolchain found: install Swift 6.2 or later from https://www.swift.org/install" >&2
    exit 1
}

declare -p "$task" &>/dev/null || {
    echo "there is no task $task" >&2
    exit 64
}
declare -n wanted=$task
missing=()
for line in "${wanted[@]}"; do
    package=${line%%:*} witness=${line#*:}
    [[ " ${missing[*]} " != *" $package "* ]] || continue
    if [[ $witness == /* ]]; then
        [[ -e $witness ]] || missing+=("$package")
    else
        command -v "$witness" >/dev/null || missing+=("$package")
    fi
done
((${#missing[@]})) || exit 0

command -v apt-get >/dev/null || {
    echo "This system has no apt-get. Install what corresponds to these Debian packages, and continue: ${missing[*]}" >&2
    exit 0
}
sudo=()
if ((EUID != 0)); then
    command -v sudo >/dev/null || {
        echo "Install these packages as root, or install sudo: ${missing[*]}" >&2
        exit 1
    }
    sudo=(sudo)
fi
echo "Installing ${#missing[@]} Debian packages: ${missing[*]}" >&2
"${sudo[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
