#!/usr/bin/env bash
# Checks that the tools in Examples create working completions, and manual pages that list all of their commands.
#
# examples.sh PROGRAMS: the folder of the built tools.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=Verification/Install/completion.sh
source Verification/Install/completion.sh
share=$(mktemp -d)
trap 'rm -rf "$share"' EXIT
products=${1:?usage: examples.sh PROGRAMS}
fail() {
    echo "examples: FAILED: $1" >&2
    exit 1
}

# check COMMAND LINE COMPLETION SUBCOMMAND…: checks the completion of a line and the manual pages.
check() {
    local command=$1 line=$2 completion=$3 page content subcommand
    local tool=$products/$command
    mkdir -p "$share/bash-completion/completions"
    "$tool" --generate-completion-script bash >"$share/bash-completion/completions/$command"
    [[ $(completed "$share" "$line") == "$completion" ]] || fail "bash completes \`$line\` with $(completed "$share" "$line")"
    [[ $("$tool" --generate-completion-script zsh) == "#compdef $command"* ]] || fail "$command has no completions for zsh"
    [[ $("$tool" --generate-completion-script fish) == *"complete -c '$command'"* ]] || fail "$command has no completions for fish"

    Scripts/manual.py "$tool" "$share/man1"
    for page in "$share/man1/$command"*.1; do
        mandoc -T lint -W warning "$page" || fail "mandoc has something to say about the manual page ${page##*/}"
    done
    content=$(mandoc -T ascii "$share/man1/$command.1" | sed 's/.\x08//g')
    for subcommand in "${@:4}"; do
        [[ $content == *" $command-$subcommand(1)"* ]] || fail "the manual page of $command does not have $subcommand"
        [[ -s $share/man1/$command-$subcommand.1 ]] || fail "$command $subcommand has no manual page"
    done
    # The account commands have the variables of the tool.
    content=$(mandoc -T ascii "$share/man1/$command-account.1" | sed 's/.\x08//g')
    [[ $content == *$'\n'"     ${command^^}_HOME"$'\n'* ]] || fail "the manual of $command has no ${command^^}_HOME"
}

check gists "gists res" resolve list show create edit delete star unstar sync status resolve account
check gists "gists list --off" --offline
check homepwner "homepwner exp" export add list show edit photo remove export import seal account
check homepwner "homepwner list --js" --json
echo "gists and homepwner: completions and manual pages"
