#!/usr/bin/env bash
# Demonstrates the `account` command with a real server: sign in, lose the network, stay signed in, refresh the token,
# end the session at the service, and show the reason. Run by `make demo`. Leaves no processes or files behind.
#
# Each step is checked: if it does not print the expected output, the demo fails.
#
# demo.sh [FOLDER]: the folder of the programs (default: where `swift build` puts them).
set -euo pipefail

examples=$(cd "$(dirname "$0")" && pwd)
PATH=${1:-$(swift build --package-path "$examples" --scratch-path "$examples/../.build" --show-bin-path)}:$PATH
# plutil is part of the toolchain, whose folder may not be in PATH, for example if `swift` is a link.
PATH=$PATH:$(dirname "$(readlink -f "$(command -v swift)")")

work=$(mktemp -d)
server=
stop_server() {
    if [[ -n $server ]]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
        server=
    fi
}
trap 'stop_server; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

export ACCOUNT_HOME=$work/home
unset ACCOUNT_TOKEN ACCOUNT_SESSION
password='correct horse battery staple'

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' dim='' plain=''; fi

title() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

fail() {
    printf '\nThe demo failed: %s\n' "$*" >&2
    exit 1
}

# step EXIT-CODE PATTERN COMMAND: prints a command as a user would type it, runs it, prints its output, and checks the
# exit code and that the output matches the pattern.
step() {
    local expected=$1 pattern=$2 code=0 output
    shift 2
    printf '%s$ %s%s\n' "$dim" "$*" "$plain"
    output=$(bash -c "$*" 2>&1) || code=$?
    if [[ -n $output ]]; then printf '%s\n' "$output"; fi
    if ((code != 0)); then printf '%s(exit code %d)%s\n' "$dim" "$code" "$plain"; fi
    ((code == expected)) || fail "exit code $code instead of $expected"
    grep -qE -- "$pattern" <<<"$output" || fail "the output does not contain \"$pattern\""
}

# The server stores its tokens in a file, so that it can be restarted on the same port.
start_server() {
    local port=${1:-0}
    # Remove the output of the previous server, which otherwise remains until the shell reopens the file.
    : >"$work/server.out"
    auth-server --quiet --port "$port" --state "$work/server.json" >"$work/server.out" &
    server=$!
    for _ in $(seq 100); do
        if grep -q '^listening on ' "$work/server.out"; then
            ISSUER=$(sed -n 's/^listening on //p' "$work/server.out")
            export ISSUER
            return
        fi
        kill -0 "$server" 2>/dev/null || fail "the example server does not start"
        sleep 0.1
    done
    fail "the example server did not report that it is listening"
}

control() { curl --silent --show-error --fail --output /dev/null "$@"; }

printf 'The example authorization server is started on a free port of this machine.\n'
start_server
printf 'ISSUER=%s ACCOUNT_HOME=%s\n' "$ISSUER" "$ACCOUNT_HOME"

title '1. Sign in, with a password from standard input'
step 77 'not signed in' 'account whoami'
step 0 'Signed in as alice' "printf '%s\n' '$password' | account login --issuer $ISSUER --username alice --password-stdin"
step 0 '^alice$' 'account whoami'

title '2. The archive is a property list; none of its fields can be read'
step 0 'AccountKit archive' "plutil -p $ACCOUNT_HOME/Documents/Account.plist"
step 1 '' "grep -ac -e alice -e example.org $ACCOUNT_HOME/Documents/Account.plist >/dev/null"

title '3. The server is stopped: you stay signed in while offline'
port=${ISSUER##*:}
stop_server
step 0 'offline' 'account whoami --max-age 0'
step 0 '^alice$' 'account whoami --offline'
start_server "$port"

title '4. The server fails, or another server responds: you stay signed in'
for fault in 503 429; do
    control "$ISSUER/control/faults" --data "{\"faults\":[{\"path\":\"*\",\"status\":$fault,\"headers\":{\"Retry-After\":\"30\"}}]}"
    step 0 "You are still signed in" 'account whoami --max-age 0'
done
control "$ISSUER/control/faults" --data \
    '{"faults":[{"path":"*","status":200,"headers":{"Content-Type":"text/html"},"body":"<h1>Welcome to the hotel Wi-Fi</h1>"}]}'
step 0 'responded instead of' 'account whoami --max-age 0'
control --request DELETE "$ISSUER/control/faults"

title '5. The access token expires: it is refreshed silently'
before=$(account token | cksum)
control --request POST "$ISSUER/control/expire"
step 0 '^alice$' 'account whoami --max-age 0'
[[ $(account token | cksum) != "$before" ]] || fail 'the token has not changed'
printf '(the token has changed)\n'

title '6. The server ends the session: you are signed out, and the reason is shown'
control --request POST "$ISSUER/control/revoke"
step 77 "$ISSUER ended this session" 'account whoami --max-age 0'
step 77 'sessionEnded' 'account whoami --json'
step 2 'No such file' "ls $ACCOUNT_HOME/Documents/Account.plist"

title '7. Sign in again, and sign out; the service is remembered'
step 0 'Signed in as alice' "printf '%s\n' '$password' | account login --username alice --password-stdin"
step 0 'Signed out alice' 'account logout'
step 77 'signed out just now' 'account whoami'

printf '\n%sThe demo is complete.%s The server is stopped, and %s is removed. The command remains; try next:\n\n' "$bold" "$plain" "$work"
account=$(command -v account)
cat <<END
  ${account#"$PWD/"} login            sign in at your service; the command asks which one
  make auth-server                      start the test server, to try more with it
  make install PREFIX="\$HOME/.local"    install the command with its completions and manual pages
END
