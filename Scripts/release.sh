#!/usr/bin/env bash
# Builds the files of `make install`, in the same folder structure: release.sh static|portable FOLDER
#
# static:    a single file, which starts fastest. It runs on any Linux of this architecture, and looks up hosts and users in
#            /etc/hosts, DNS and /etc/passwd; other plugins must belong to the C library that it was built with.
# portable:  Swift's libraries are in the file; the C library and libsodium are those of the system.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:?usage: release.sh static|portable FOLDER}
folder=${2:?usage: release.sh static|portable FOLDER}

# shellcheck source=Scripts/release-flags.sh
source Scripts/release-flags.sh "$kind"
# shellcheck disable=SC2154
mkdir -p "$scratch"
# One build at a time: a build first removes the previous files.
exec {lock}>"$scratch/release.lock"
flock "$lock"
swift build "${flags[@]}" --product account
products=$(swift build "${flags[@]}" --show-bin-path)

# Keep the files if they are newer than the program and the scripts.
made=$folder/.made
is_made() { [[ $made -nt $products/account && $made -nt Scripts/release.sh && $made -nt Scripts/manual.sh ]]; }
if is_made; then exit; fi

rm -rf "$folder"
install -d "$folder/bin" "$folder/share/bash-completion/completions" "$folder/share/zsh/site-functions" \
    "$folder/share/fish/vendor_completions.d" "$folder/share/man/man1"
strip -o "$folder/bin/account" "$products/account"
account=$folder/bin/account
# A shell reads the completion script, so the #! line is removed.
"$account" --generate-completion-script bash | sed '1{/^#!/d}' >"$folder/share/bash-completion/completions/account"
"$account" --generate-completion-script zsh >"$folder/share/zsh/site-functions/_account"
"$account" --generate-completion-script fish >"$folder/share/fish/vendor_completions.d/account.fish"
# manual PAGE SEE [SUBCOMMAND]: writes the page of the command, or of a subcommand.
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
