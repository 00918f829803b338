#!/usr/bin/env bash
# Runs the tool of the README against the test server of `make auth-server`, as the quick start does.
#
# quick-start.sh PROGRAMS: the folder of the built programs. The tool contains the port 8080, so the script runs in a network namespace.
set -euo pipefail

if [[ ${2:-} != inside ]]; then
    options=(--net)
    ((EUID == 0)) || options+=(--map-root-user)
    exec unshare "${options[@]}" "$0" "${1:?usage: quick-start.sh PROGRAMS}" inside
fi
ip link set lo up
programs=$1
work=$(mktemp -d)
server=
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
fail() {
    echo "quick-start: FAILED: $1" >&2
    exit 1
}

"$programs/auth-server" --quiet --notes --port 8080 >"$work/server.out" &
server=$!
for _ in $(seq 100); do
    if grep -q '^listening on http://127.0.0.1:8080$' "$work/server.out"; then break; fi
    kill -0 "$server" 2>/dev/null || fail "the test server does not start"
    sleep 0.1
done
grep -q '^listening' "$work/server.out" || fail "the test server does not start"

# expect EXIT-CODE OUTPUT ERRORS ARGUMENT…: runs the tool. Its standard input is the password.
expect() {
    local code=0 output
    output=$(NOTES_HOME=$work/notes "$programs/snippet-notes" "${@:4}" 2>"$work/errors" <<<'correct horse battery staple') || code=$?
    ((code == $1)) || fail "\`notes ${*:4}\` exits with $code: $output $(<"$work/errors")"
    [[ $output == "$2" ]] || fail "\`notes ${*:4}\` prints: $output"
    [[ $(<"$work/errors") == "$3" ]] || fail "\`notes ${*:4}\` prints errors: $(<"$work/errors")"
}
expect 77 'Hello stranger' $'snippet-notes: you are not signed in\n  Run `snippet-notes account login`.'
expect 0 '' 'Signed in as alice at http://127.0.0.1:8080.' account login --username alice --password-stdin
expect 0 $'Hello alice\nYou have 2 notes.' ''
expect 0 '' 'Signed out alice.' account logout
echo "quick start: the tool of the README signs in at the test server"
