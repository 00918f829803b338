#!/usr/bin/env bash
# Checks that the tools in Examples create working completions, and manual pages that list all of their commands.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=Verification/Install/completion.sh
source Verification/Install/completion.sh
share=$(mktemp -d)
trap 'rm -rf "$share"' EXIT
build=(swift build --quiet --package-path IntegrationTests --scratch-path .build --explicit-target-dependency-import-check error)
fail() {
    echo "examples: $1" >&2
    exit 1
}

# check COMMAND LINE COMPLETION SUBCOMMAND…: checks the completion of a line and the content of the manual page.
check() {
    local command=$1 line=$2 completion=$3 page
    local tool=$products/$command
    mkdir -p "$share/bash-completion/completions"
    "$tool" --generate-completion-script bash >"$share/bash-completion/completions/$command"
    [[ $(completed "$share" "$line") == "$completion" ]] || fail "bash completes \`$line\` with $(completed "$share" "$line")"
    [[ $("$tool" --generate-completion-script zsh) == "#compdef $command"* ]] || fail "$command has no completions for zsh"
    [[ $("$tool" --generate-completion-script fish) == *"complete -c '$command'"* ]] || fail "$command has no completions for fish"

    Scripts/manual.sh "$tool" .build/checkouts "Examples/Sources/$command" >"$share/$command.1"
    mandoc -T lint -W warning "$share/$command.1" || fail "mandoc has something to say about the manual page of $command"
    page=$(mandoc -T markdown "$share/$command.1")
    for subcommand in "${@:4}"; do
        [[ $page == *"*$subcommand*"* ]] || fail "the manual page of $command does not have $subcommand"
    done
}

"${build[@]}" --product gists
"${build[@]}" --product homepwner
products=$("${build[@]}" --show-bin-path)
check gists "gists res" resolve list show create edit delete star unstar sync status resolve account
check gists "gists list --off" --offline
check homepwner "homepwner exp" export add list show edit photo remove export import seal account
check homepwner "homepwner list --js" --json
echo "gists and homepwner: completions and manual pages"
