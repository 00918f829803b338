#!/usr/bin/env bash
# Demonstrates one session on three machines, with the `account` command, a real server and a real etcd cluster: sign in
# on one machine and be signed in on all, refresh once, lose a node, and end the session everywhere. Run by `make
# fleet-demo`. Leaves no processes or files behind.
#
# Each step is checked: if it does not print the expected output, the demo fails.
#
# fleet-demo.sh [FOLDER]: the folder of the programs (default: where `swift build` puts them).
set -euo pipefail

examples=$(cd "$(dirname "$0")" && pwd)
PATH=${1:-$(swift build --package-path "$examples" --scratch-path "$examples/../.build" --show-bin-path)}:$PATH

work=$(mktemp -d)
declare -A nodes=()
server=
cleanup() {
    local pid
    for pid in "${nodes[@]}" $server; do kill -KILL "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

unset ACCOUNT_TOKEN ACCOUNT_SESSION ACCOUNT_HOME
password='correct horse battery staple'
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' dim='' plain=''; fi
title() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
fail() {
    printf '\nThe demo failed: %s\n' "$*" >&2
    exit 1
}

# step MACHINE EXIT-CODE PATTERN COMMAND: runs a command on a machine, which is a separate home directory, prints its
# output, and checks the exit code and that the output matches the pattern.
step() {
    local machine=$1 expected=$2 pattern=$3 code=0 output
    shift 3
    printf '%s%s$ %s%s\n' "$dim" "$machine" "$*" "$plain"
    output=$(ACCOUNT_HOME="$work/$machine" bash -c "$*" 2>&1) || code=$?
    if [[ -n $output ]]; then printf '%s\n' "$output"; fi
    ((code == expected)) || fail "exit code $code instead of $expected"
    grep -qE -- "$pattern" <<<"$output" || fail "the output does not contain \"$pattern\""
}

# Ports that are currently free, since etcd cannot choose a free port itself.
mapfile -t ports < <(python3 -c '
import socket
taken = [socket.socket() for _ in range(6)]
for one in taken: one.bind(("127.0.0.1", 0))
for one in taken: print(one.getsockname()[1])')
members="node0=http://127.0.0.1:${ports[3]},node1=http://127.0.0.1:${ports[4]},node2=http://127.0.0.1:${ports[5]}"
start_node() {
    local client=http://127.0.0.1:${ports[$1]} peer=http://127.0.0.1:${ports[$1 + 3]}
    etcd --name "node$1" --data-dir "$work/node$1" --listen-client-urls "$client" --advertise-client-urls "$client" \
        --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "$members" \
        --logger zap --log-level error >"$work/node$1.log" 2>&1 &
    nodes[$1]=$!
    disown
}
kill_node() {
    kill -KILL "${nodes[$1]}"
    unset "nodes[$1]"
}
export ETCDCTL_API=3
ETCDCTL_ENDPOINTS=127.0.0.1:${ports[0]},127.0.0.1:${ports[1]},127.0.0.1:${ports[2]}
export ETCDCTL_ENDPOINTS
wait_for_cluster() {
    for _ in $(seq 300); do
        if etcdctl get ready >/dev/null 2>&1; then return; fi
        sleep 0.2
    done
    fail "the cluster has no leader"
}
# The index of the leader. The fifth field of each line shows whether the node is the leader.
leader() {
    local index
    for index in "${!nodes[@]}"; do
        if ETCDCTL_ENDPOINTS=127.0.0.1:${ports[index]} etcdctl endpoint status 2>/dev/null | cut -d, -f5 | grep -q true; then
            echo "$index"
            return
        fi
    done
    fail "the cluster has no leader"
}

control() { curl --silent --show-error --fail --output /dev/null "$@"; }

printf 'Three nodes of etcd and an authorization server are started on free ports of this machine.\n'
for index in 0 1 2; do start_node "$index"; done
auth-server --quiet --port 0 --state "$work/server.json" >"$work/server.out" &
server=$!
disown
for _ in $(seq 100); do
    if grep -q '^listening on ' "$work/server.out"; then break; fi
    sleep 0.1
done
ISSUER=$(sed -n 's/^listening on //p' "$work/server.out")
[[ -n $ISSUER ]] || fail "the example server did not start"
wait_for_cluster
export ISSUER ACCOUNT_STORE=etcd://$ETCDCTL_ENDPOINTS/demo
printf 'ISSUER=%s ACCOUNT_STORE=%s\n' "$ISSUER" "$ACCOUNT_STORE"

title '1. Sign in on machine A; its key is copied to B and C'
step A 0 'Signed in as alice' "printf '%s\n' '$password' | account login --issuer $ISSUER --username alice --password-stdin"
for machine in B C; do
    (umask 077 && mkdir -p "$work/$machine/Library/Keys")
    cp -p "$work/A/Library/Keys/Account.key" "$work/$machine/Library/Keys/"
done
step B 0 '^alice$' 'account whoami'
step C 0 '^alice$' 'account whoami'
step C 0 '^[*] default +alice +' 'account sessions'

title '2. The data in the cluster is encrypted: its operators cannot read it'
step etcd 0 'demo/account/default/Account.plist' 'etcdctl get --prefix demo/ --keys-only'
step etcd 1 '' 'etcdctl get --prefix demo/ --print-value-only | grep -ac -e alice -e example.org >/dev/null'

title '3. The access token expires: 30 processes on all machines make one refresh'
control --request DELETE "$ISSUER/control/log"
control --request POST "$ISSUER/control/expire"
pids=()
for number in $(seq 30); do
    machines=(A B C)
    ACCOUNT_HOME=$work/${machines[number % 3]} account whoami --max-age 0 >"$work/out.$number" 2>&1 &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "one of the 30 failed: $(cat "$work"/out.*)"; done
counts=$(curl --silent --show-error --fail "$ISSUER/control/log")
grep -q '"refreshes":1,' <<<"$counts" || fail "there was not one refresh: ${counts:0:300}"
grep -q '"reuseAlarms":0' <<<"$counts" || fail "a refresh token was sent twice: ${counts:0:300}"
printf '(alice 30 times; 1 refresh)\n'

title '4. The leader of the cluster is killed: the commands still work'
killed=$(leader)
kill_node "$killed"
printf '(node%s is killed)\n' "$killed"
control --request POST "$ISSUER/control/expire"
step B 0 '^alice$' 'account whoami --max-age 0'

title '5. A second node is killed: valid tokens are still available, but nothing can be changed'
second=$(leader)
kill_node "$second"
step C 0 '^alice$' 'account whoami'
step C 0 '^Replica +from .*; the store cannot be reached' 'account status'
step C 75 'cannot be reached' 'account logout'
start_node "$killed"
start_node "$second"
wait_for_cluster

title '6. The service ends the session: all machines report it'
control --request POST "$ISSUER/control/revoke"
step A 77 "$ISSUER ended this session" 'account whoami --max-age 0'
step B 77 "$ISSUER ended this session" 'account whoami'
step C 77 "$ISSUER ended this session" 'account whoami'

printf '\n%sThe demo is complete.%s The nodes and the server are stopped, and %s is removed.\n' "$bold" "$plain" "$work"
