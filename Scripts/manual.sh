#!/usr/bin/env bash
# Writes the manual page of a command on standard output, from its own help: manual.sh COMMAND CHECKOUTS [SOURCES]
#
# The tool is swift-argument-parser's, in the version that the command is built with. SOURCES are what the command's help is in; the
# page has the date of their last change.
set -euo pipefail
cd "$(dirname "$0")/.."

command=${1:?usage: manual.sh COMMAND CHECKOUTS [SOURCES]}
checkouts=${2:?usage: manual.sh COMMAND CHECKOUTS [SOURCES]}
sources=${3:-Sources/AccountCommands}
build=(swift build --quiet --package-path "$checkouts/swift-argument-parser" --scratch-path .build/manual)
"${build[@]}" --product generate-manual >&2
# A page with the date of the day would be another one every day. And mdoc(7) wants a line for each sentence, and no empty
# ones; nor a paragraph before an item, which the tool writes behind the help of an argument. The tool also lists the hidden
# subcommand that suggests others.
"$("${build[@]}" --show-bin-path)/generate-manual" "$command" --output-directory - \
    --date "$(git log -1 --format=%cs -- "$sources" 2>/dev/null || date +%F)" |
    awk '/^\.It Em / { hidden = $0 == ".It Em unknown-subcommand" } !hidden' |
    sed -E 's/^$/.Pp/; /^[^.]/s/([[:lower:])0-9]\.) ([[:upper:]])/\1\n\2/g' |
    sed -E '/^\.Pp$/{N; s/^\.Pp\n(\.It )/\1/}'
