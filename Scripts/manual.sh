#!/usr/bin/env bash
# Writes a manual page of a command to standard output, from the command's help:
#
#     manual.sh [--see PAGES] [--page NAME SUBCOMMAND] COMMAND CHECKOUTS [SOURCES]
#
# The tool is part of swift-argument-parser, in the version that the command is built with. SOURCES contain the help of the command;
# the page has the date of their last change. With --page this is the page NAME of one subcommand, otherwise the page of the command
# with all subcommands. PAGES are for SEE ALSO, such as "account 1, git 1".
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: manual.sh [--see PAGES] [--page NAME SUBCOMMAND] COMMAND CHECKOUTS [SOURCES]"
see='' name='' subcommand=''
while [[ ${1:-} == --* ]]; do
    case $1 in
    --see) see=${2:?$usage} && shift 2 ;;
    --page) name=${2:?$usage} subcommand=${3:?$usage} && shift 3 ;;
    *) echo "$usage" >&2 && exit 64 ;;
    esac
done
command=${1:?$usage}
checkouts=${2:?$usage}
sources=${3:-Sources/AccountCommands}
build=(swift build --quiet --package-path "$checkouts/swift-argument-parser" --scratch-path "$checkouts/../manual")
"${build[@]}" --product generate-manual >&2
# Do not use the current date, with which the page would change every day.
generate=("$("${build[@]}" --show-bin-path)/generate-manual" "$command"
    --date "$(git log -1 --format=%cs -- "$sources" 2>/dev/null || date +%F)")

# mdoc(7) requires one sentence per line, no empty lines, and no paragraph before an item, which the tool writes after the help of an
# argument. The tool also lists the hidden subcommand that suggests other commands.
tidied() {
    awk '/^\.It Em / { hidden = $0 == ".It Em unknown-subcommand" } !hidden' |
        sed -E 's/^$/.Pp/; /^[^.]/s/([[:lower:])0-9]\.) ([[:upper:]])/\1\n\2/g' |
        sed -E '/^\.Pp$/{N; s/^\.Pp\n(\.It )/\1/}'
}

# Replaces the empty SEE ALSO section, at the end of the page.
with_references() {
    awk -v pages="$see" '
        /^\.Sh "SEE ALSO"$/ { next }
        { print }
        END {
            if (!pages) exit
            print ".Sh \"SEE ALSO\""
            count = split(pages, page, /, */)
            for (i = 1; i <= count; i++) print ".Xr " page[i] (i < count ? " ," : "")
        }'
}

if [[ -z $subcommand ]]; then
    "${generate[@]}" --output-directory - | tidied | with_references
else
    pages=$(mktemp -d)
    trap 'rm -rf "$pages"' EXIT
    "${generate[@]}" --multi-page --output-directory "$pages"
    tool=$(basename "$command")
    # The name of a page has no space. The synopsis shows the command to type, unless a program has the name of the page.
    typed="$tool $subcommand"
    if [[ $name == "$subcommand-$tool" ]]; then typed=$name; fi
    awk -v name="$name" -v typed="$typed" '
        /^\.Dt / { print ".Dt " toupper(name) " 1"; next }
        /^\.Sh / { section = $2 }
        /^\.Nm/ { print ".Nm " (section == "SYNOPSIS" ? typed : name); next }
        { print }' "$pages/$tool.$subcommand.1" | tidied | with_references
fi
