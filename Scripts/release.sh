#!/usr/bin/env bash
# Builds what `make install` puts in place, with the folders as they are there: release.sh static|portable FOLDER
#
# static:    everything in one file, which starts fastest. It runs on any Linux of this architecture; only plugins for names
#            of hosts and users, beyond /etc/hosts, DNS and /etc/passwd, must be those of the C library it was built with.
# portable:  Swift's libraries in the file; the C library and libsodium are the system's.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:?usage: release.sh static|portable FOLDER}
folder=${2:?usage: release.sh static|portable FOLDER}

# shellcheck source=Scripts/release-flags.sh
source Scripts/release-flags.sh "$kind"
# shellcheck disable=SC2154
mkdir -p "$scratch"
# One at a time: what is made is also taken away before.
exec {lock}>"$scratch/release.lock"
flock "$lock"
swift build "${flags[@]}" --product account
products=$(swift build "${flags[@]}" --show-bin-path)

# What was made from this very program is left as it is.
made=$folder/.made
is_made() { [[ $made -nt $products/account && $made -nt Scripts/release.sh && $made -nt Scripts/manual.sh ]]; }
if is_made; then exit; fi

rm -rf "$folder"
install -d "$folder/bin" "$folder/share/bash-completion/completions" "$folder/share/zsh/site-functions" \
    "$folder/share/fish/vendor_completions.d" "$folder/share/man/man1"
strip -o "$folder/bin/account" "$products/account"
account=$folder/bin/account
# It is read by a shell, and not run.
"$account" --generate-completion-script bash | sed '1{/^#!/d}' >"$folder/share/bash-completion/completions/account"
"$account" --generate-completion-script zsh >"$folder/share/zsh/site-functions/_account"
"$account" --generate-completion-script fish >"$folder/share/fish/vendor_completions.d/account.fish"
# manual PAGE SEE [SUBCOMMAND]: of the command, or of a subcommand that other programs run, or run others.
manual() {
    Scripts/manual.sh --see "$2" ${3:+--page "$1" "$3"} "$account" "$scratch/checkouts" >"$folder/share/man/man1/$1.1"
}
manual account "account-exec 1, account-git-credential 1, account-keep 1, account-kube-credential 1, docker-credential-account 1"
manual account-exec "account 1, account-keep 1, env 1" exec
manual account-git-credential "account 1, git-credential 1, gitcredentials 7" git-credential
manual account-keep "account 1, account-exec 1, systemd.service 5" keep
manual account-kube-credential "account 1, kubectl 1" kube-credential
manual docker-credential-account "account 1, docker 1, skopeo 1" docker-credential
touch "$made"
