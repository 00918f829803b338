#!/usr/bin/env bash
# Checks that the Debian package installs on a machine without Swift, works there, and uninstalls completely, and that lintian
# finds no error in it.
set -euo pipefail
cd "$(dirname "$0")/../.."

make --no-print-directory deb
packages=(.build/deb/*.deb)
[[ ${#packages[@]} == 1 ]] || {
    echo "deb: one package is expected, not ${packages[*]}" >&2
    exit 1
}
lintian --fail-on error --tag-display-limit 0 "${packages[0]}"

# A Debian system with only the essential packages: the test runs inside, and the system is deleted.
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mmdebstrap --quiet --variant=essential --format=null \
    --customize-hook="copy-in ${packages[0]} Verification/Install/deb-inside.sh /tmp" \
    --customize-hook="chroot \"\$1\" sh -eu /tmp/deb-inside.sh /tmp/$(basename "${packages[0]}")" \
    "$codename" /dev/null
echo "the Debian package: made, checked, installed, used and removed"
