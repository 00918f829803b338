#!/usr/bin/env bash
# Checks that the installed files are in place and work from there, and that uninstalling removes all of them: check.sh [static|portable|debug]
set -euo pipefail
kind=${1:-static}
cd "$(dirname "$0")/../.."

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
prefix=/opt/tools
files() { (cd "$root" && find . ! -type d -printf '%m %P\n' | sort -k 2); }
fail() {
    echo "install: $1" >&2
    exit 1
}

make --no-print-directory install KIND="$kind" DESTDIR="$root" PREFIX="$prefix"

# Expect the manual pages of the documented commands; the installed pages are those that the script has generated.
mapfile -t pages < <(Scripts/manual.py --list)
expected=$(sort -k 2 <<END
755 opt/tools/bin/account
777 opt/tools/bin/docker-credential-account
644 opt/tools/share/bash-completion/completions/account
644 opt/tools/share/fish/vendor_completions.d/account.fish
644 opt/tools/share/zsh/site-functions/_account
$(printf '644 opt/tools/share/man/man1/%s\n' "${pages[@]}")
END
)
[[ $(files) == "$expected" ]] || fail "other files than expected: $(files)"

# Run from the installation, without access to the build.
account=$root$prefix/bin/account
[[ $(env -i "$account" --version) == $(sed -n 's/^package let accountKitVersion = "\([^"]*\)"$/\1/p' Sources/AccountSupport/AccountKitVersion.swift) ]] ||
    fail "--version gives another version"
state=$(env -i ACCOUNT_HOME="$root/home" "$account" whoami --offline --json) && fail "no user is signed in, but whoami reports one"
[[ $state == *'"reason":"neverSignedIn"'* ]] || fail "whoami says $state"

# Docker's name for the helper is a link to the command.
said=$(env -i ACCOUNT_HOME="$root/home" "$root$prefix/bin/docker-credential-account" get <<<ghcr.io) && fail "docker gets credentials that do not exist"
[[ $said == "credentials not found in native keychain" ]] || fail "docker receives $said"

# The machine may resolve hosts and users through plugins of the C library, which a static program cannot load.
printf 'passwd: files systemd\nhosts: systemd files dns\n' >"$root/nsswitch.conf"
with_plugins() {
    # shellcheck disable=SC2016
    unshare --map-root-user --mount bash -c 'mount --bind "$1" /etc/nsswitch.conf && shift && exec env -i "$@"' \
        with-plugins "$root/nsswitch.conf" "$@" 2>&1 || true
}
said=$(with_plugins ACCOUNT_HOME="$root/home" "$account" login --issuer https://no.such.host.invalid --with-token <<<token)
[[ $said == *"host name no.such.host.invalid is not known"* ]] || fail "an unknown host: $said"
said=$(with_plugins ACCOUNT_HOME="$root/home" "$account" login --issuer http://localhost:1 --with-token <<<token)
[[ $said == *"connection to localhost:1 was refused"* ]] || fail "a known host: $said"
said=$(env -i unshare --map-user=54321 "$account" whoami 2>&1) || true
[[ $said == *"Set HOME"* ]] || fail "an unknown user: $said"
rm -rf "$root/nsswitch.conf" "${root:?}/home"

# shellcheck source=Verification/Install/completion.sh
source Verification/Install/completion.sh
share=$root$prefix/share
[[ $(completed "$share" "account wh") == whoami ]] || fail "bash does not complete a command: $(completed "$share" "account wh")"
[[ $(completed "$share" "account whoami --off") == --offline ]] || fail "bash does not complete an option of a command"

man=$share/man/man1
# shown PAGE: the text of a manual page on a terminal.
shown() { mandoc -T ascii "$1" | sed 's/.\x08//g'; }
# hyphenated: prints the lines that end within a word.
hyphenated() { sed 's/.\x08//g' | grep -E '[[:alnum:]]-$'; }
for page in "$man"/*.1; do
    name=${page##*/}
    mandoc -T lint -W warning "$page" || fail "mandoc has something to say about the manual page $name"
    sections="NAME SYNOPSIS DESCRIPTION EXIT_STATUS EXAMPLES SEE_ALSO"
    if [[ $name == account.1 ]]; then sections+=" COMMANDS COMMON_OPTIONS ENVIRONMENT FILES"; fi
    for section in $sections; do
        grep -qx ".Sh ${section/_/ }" "$page" || fail "the manual page $name has no section ${section/_/ }"
    done
    # Unlike mandoc, groff divides words at the end of a line. Commands cannot be copied from such lines.
    if lines=$(mandoc -T ascii "$page" | hyphenated || groff -mandoc -T ascii -P-c -rLL=78n "$page" 2>&1 | hyphenated); then
        fail "the manual page $name has divided words: $lines"
    fi
done
page=$(shown "$man/account.1")
(($(wc -l <<<"$page") <= 300)) || fail "the manual page account has $(wc -l <<<"$page") lines"
for name in "${pages[@]}"; do
    [[ $name == account.1 || $page == *"     ${name%.1}(1)"* ]] || fail "the manual page account does not list ${name%.1}"
done
status=$(sed -n '/^EXIT STATUS$/,/^EXAMPLES$/p' <<<"$page")
codes=$(awk '/^#/ { inside = /Exit codes$/ } inside && /^\| [0-9]+ \|/ { print $2 }' \
    Sources/AccountCommands/AccountCommands.docc/Scripting.md)
[[ $codes == *64*77* ]] || fail "Scripting.md has only the exit codes $codes"
for code in $codes; do
    grep -Eq "^     $code +[^ ]" <<<"$status" || fail "the manual page account does not explain the exit code $code"
done

# check_manual PAGE TYPED TEXT…: checks that a page contains its name, the command to type, and the texts.
check_manual() {
    local text page
    page=$(shown "$man/$1.1")
    [[ $page == *"${1^^}(1)"* ]] || fail "the manual page $1 has another title"
    [[ $page == *$'\nNAME\n'*" $1 - "* ]] || fail "the manual page $1 has another name"
    [[ $page == *$'\nSYNOPSIS\n     '"$2 "* ]] || fail "the manual page $1 does not say what is typed"
    for text in "${@:3}"; do
        [[ $page == *"$text"* ]] || fail "the manual page $1 does not have $text"
    done
}
check_manual account-exec "account exec" --env --min-validity "account-keep(1)" "env(1)"
check_manual account-git-credential "account git-credential" credential.helper "gitcredentials(7)"
check_manual account-keep "account keep" --file --id-token --once "account-exec(1)" "systemd.service(5)"
check_manual account-key "account key status" "account key add" "account key remove" "account key rotate"
check_manual account-kube-credential "account kube-credential" --api-version --id-token "account(1)" "kubectl(1)"
check_manual account-login "account login" --issuer --with-token "account(1)"
check_manual docker-credential-account docker-credential-account "get, store, erase" "account(1)" "skopeo(1)"

make --no-print-directory uninstall KIND="$kind" DESTDIR="$root" PREFIX="$prefix"
[[ -z $(files) ]] || fail "uninstalling leaves $(files)"
echo "installed, used and uninstalled"
