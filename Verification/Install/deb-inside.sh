#!/bin/sh
# The part of Verification/Install/deb.sh that runs with the package on a minimal machine: sh -eu deb-inside.sh PACKAGE
package=$1
fail() {
    echo "deb: $1" >&2
    exit 1
}
files() { find / -xdev \( -path /proc -o -path /tmp -o -path /var/lib/dpkg -o -path /var/log \) -prune -o -print | sort; }

! command -v swift >/dev/null || fail "there is a Swift here"
files >/tmp/before
dpkg --install "$package"

cd /
export HOME=/tmp/home
mkdir "$HOME"
account --version || fail "the command does not run"
said=$(account whoami --json) && fail "no user is signed in, but whoami reports one"
echo "$said" | grep -q '"reason":"neverSignedIn"' || fail "whoami says $said"
said=$(echo ghcr.io | docker-credential-account get) && fail "docker gets credentials that do not exist"
[ "$said" = "credentials not found in native keychain" ] || fail "docker receives $said"
for file in bash-completion/completions/account zsh/vendor-completions/_account fish/vendor_completions.d/account.fish \
    man/man1/account.1.gz man/man1/account-login.1.gz man/man1/docker-credential-account.1.gz doc/accountkit/copyright; do
    # A system may exclude documentation (dpkg.cfg(5), path-exclude).
    [ -s "/usr/share/$file" ] || dpkg --contents "$package" | grep -q "/usr/share/$file" || fail "there is no $file"
done

dpkg --purge accountkit
files >/tmp/after
cmp /tmp/before /tmp/after || fail "it leaves behind: $(comm -13 /tmp/before /tmp/after)"
