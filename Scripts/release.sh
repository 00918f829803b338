#!/usr/bin/env bash
# Builds the files of `make install`, in the same folder structure: release.sh static|portable|debug FOLDER
#
# static:    a single file, which starts fastest. It runs on any Linux of this architecture, and looks up hosts and users in
#            /etc/hosts, DNS and /etc/passwd; other plugins must belong to the C library that it was built with.
# portable:  Swift's libraries are in the file; the C library and libsodium are those of the system.
# debug:     the debug build, for `make check`.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:?usage: release.sh static|portable|debug FOLDER}
folder=${2:?usage: release.sh static|portable|debug FOLDER}

if [[ $kind == debug ]]; then
    Scripts/build.sh root --product account
    products=$(Scripts/build.sh root --show-bin-path)
else
    # shellcheck source=Scripts/release-flags.sh
    source Scripts/release-flags.sh "$kind"
    # shellcheck disable=SC2154
    mkdir -p "$scratch"
    # One build at a time: a build first removes the previous files.
    exec {lock}>"$scratch/release.lock"
    flock "$lock"
    "${SWIFT:-swift}" build "${flags[@]}" --product account
    products=$("${SWIFT:-swift}" build "${flags[@]}" --show-bin-path)
fi

# Keep the files if they are newer than the program, the scripts and the articles with the tables of the manual.
made=$folder/.made
articles=Sources/AccountCommands/AccountCommands.docc
is_made() {
    local source
    for source in "$products/account" Scripts/{release.sh,manual.py,commands_page.py} "$articles"/{Scripting,FilesAndDirectories}.md; do
        [[ $made -nt $source ]] || return 1
    done
}
if is_made; then exit; fi

rm -rf "$folder"
install -d "$folder/bin" "$folder/share/bash-completion/completions" "$folder/share/zsh/site-functions" \
    "$folder/share/fish/vendor_completions.d" "$folder/share/man/man1"
# `strip` writes small pieces, after which the kernel caches the file in small pieces too, and the command starts more slowly. `cp` writes
# the file in large pieces.
strip -o "$folder/stripped" "$products/account"
cp "$folder/stripped" "$folder/bin/account"
rm "$folder/stripped"
account=$folder/bin/account
# A shell reads the completion script, so the #! line is removed.
"$account" --generate-completion-script bash | sed '1{/^#!/d}' >"$folder/share/bash-completion/completions/account"
"$account" --generate-completion-script zsh >"$folder/share/zsh/site-functions/_account"
"$account" --generate-completion-script fish >"$folder/share/fish/vendor_completions.d/account.fish"
Scripts/manual.py "$account" "$folder/share/man/man1"
touch "$made"
