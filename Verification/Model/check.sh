#!/usr/bin/env bash
# Explores every state of session.pml, and checks that each known mistake is detected. See README.md.
#
# Needs spin, gcc and tcc, and 1.5 GB of memory for each processor. Fails if a property does not hold, if a mistake is not detected,
# if a search was incomplete, or if a step was never taken.
set -euo pipefail

model=$(cd "$(dirname "$0")" && pwd)/session.pml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

for tool in spin gcc tcc; do
    command -v "$tool" >/dev/null || {
        echo "There is no $tool: install spin, gcc and tcc" >&2
        exit 1
    }
done

report() { printf '%-6s %s\n' "$@"; }
fail() {
    report FAIL "$1"
    touch failed
}

# try NAME …: runs one of the claims below in its own folder, at most one for each processor at a time.
tried=0
try() {
    while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
    tried=$((tried + 1))
    mkdir "$folder/$tried"
    (
        cd "$folder/$tried"
        cp "$model" session.pml
        ("$@") >report.txt 2>errors.txt || touch failed
        # These files are large.
        rm -f pan pan.* output.txt
    ) &
}

# search COMPILER BITS [-Dx …] [-E]: writes the result of a full search to output.txt, with a hash table of BITS bits. -E:
# waiting forever is not an error.
search() {
    local compiler=$1 bits=$2 options=() arguments=()
    shift 2
    for option in "$@"; do
        if [[ $option == -E ]]; then arguments+=("$option"); else options+=("$option"); fi
    done
    rm -f pan session.pml.trail
    spin "${options[@]}" -a session.pml >spin.txt || {
        cat spin.txt >&2
        exit 1
    }
    # shellcheck disable=SC2086
    $compiler -w -DSAFETY -DMEMLIM=4000 -o pan pan.c
    # The result of pan is in its output, not in its exit code.
    ./pan "${arguments[@]}" -m10000 -w"$bits" >output.txt 2>&1 || true
}

is_complete() { ! grep -qE 'not completed|too small|MEMLIM|out of memory|aborted' output.txt; }
states() { sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' output.txt; }

# Prints the steps that were never taken. Steps of inline text are listed before the first proctype, and some of them are never possible.
unreached() {
    local first
    first=$(grep -n '^proctype' session.pml | head -1 | cut -d: -f1)
    sed -n 's/^\tsession.pml:\([0-9]*\), state [0-9]*, \(.*\)/\1 \2/p' output.txt |
        awk -v first="$first" '$1 >= first && $2 != "\"-end-\""'
}

# holds NAME MINIMUM UNREACHED OPTIONS…: checks that no property is ever violated, in at least MINIMUM states. UNREACHED is
# "all" if every step must have been taken, or "some" if the options exclude some.
holds() {
    local name=$1 minimum=$2 coverage=$3
    shift 3
    # Optimization takes four seconds, which pays off only for a large search.
    local compiler=tcc count
    if ((minimum >= 4000000)); then compiler="gcc -O1"; fi
    search "$compiler" 24 "$@"
    count=$(states)
    if grep -qE 'violated|invalid end state \(' output.txt; then
        fail "$name: $(grep -m1 -E 'violated|invalid end state \(' output.txt)"
        # Print the steps that led to the violation.
        spin "$@" -t -p session.pml >&2 2>/dev/null || true
    elif ! is_complete || ! grep -q 'errors: 0$' output.txt; then
        fail "$name: the search was not complete"
    elif ((count < minimum)); then
        fail "$name: only ${count} states, where at least ${minimum} were expected"
    elif [[ $coverage == all && -n $(unreached) ]]; then
        fail "$name: some steps were never taken:"
        unreached >&2
    else
        report holds "$name: ${count} states"
    fi
}

# notices PROPERTY MISTAKE OPTIONS…: checks that the mistake violates the property, with only that property enabled.
notices() {
    local property=$1 mistake=$2
    shift 2
    local options=("-D$mistake" "-DONLY=$property" "$@")
    # A program that waits forever violates property 6, which is irrelevant for the others.
    [[ $property == 6 ]] || options+=(-E)
    search tcc 20 "${options[@]}"
    if grep -qE "assertion violated \(\(${property}!=${property}\)|invalid end state \(" output.txt &&
        [[ -s session.pml.trail ]]; then
        report fails "P${property}, as it must, with ${mistake}: after $(states) states"
    else
        fail "P${property} with ${mistake} should be violated, and was not"
    fi
}

declare -A properties=(
    [1]="only the user or the service ends a session; a record shows a spent token"
    [2]="a spent refresh token is sent only after its successor was lost"
    [3]="no refresh and no check replaces another sign-in, restores a session that was signed out, or loses a key"
    [4]="an access token is used only if it was saved, or if saving it failed"
    [5]="no refresh token is spent if the disk is full when space is reserved"
    [6]="no program waits forever, and in the end both locks are free"
    [7]="the revocation of a sign-out or of a replaced sign-in is done or queued"
    [8]="every valid token at the service is known here, unless it was lost in transit"
    [9]="no request is in transit under Account.lock, and neither sign-out nor sign-in acquires the lease"
)

try holds "two programs, two operations and one" 8000000 all -DSECOND=1
try holds "two operations each, without write failures" 7000000 some -DFAULTS=0 -DLEAVES=0 -DDERIVATIONS=0
try holds "two operations each, without deaths" 6000000 some -DDEATHS=0 -DFAULTS=1 -DLEAVES=0
# In this variant only, both tasks have access to the unsaved tokens.
try holds "two tasks of one process" 1000000 some -DONE_PROCESS -DSECOND=1 -DDEATHS=0
of_all=$tried
# Locks that their holder may lose at any time, with a store that compares them: all of P1 to P9.
fenced=(-DFENCED -DSECOND=1 -DDEATHS=0 -DFAULTS=0 -DLEAVES=0 -DDERIVATIONS=0)
try holds "locks that run out, at a store with a fence" 8000000 some "${fenced[@]}"
# Locks that are lost once, unnoticed: P1 (a rejection clears only the tokens that were sent), P3 to P6, P9.
try holds "locks that run out, and a write that fails" 3000000 some -DLOSES_LOCKS -DSECOND=1 -DDEATHS=0 -DFAULTS=1 -DLEAVES=0 \
    -DDERIVATIONS=0
# A service that ends all grants of a user when one is revoked: P1, P6, and P7 (a replaced grant is revoked after the sign-out).
try holds "one user, whose grants end together" 900000 some -DONE_USER -DONLY=1 -DDEATHS=0 -DFAULTS=0
try holds "one user, whose replaced grant is revoked at the sign-out" 900000 some -DONE_USER -DONLY=7 -DDEATHS=0 -DFAULTS=0

try notices 3 WITHOUT_LOCK
try notices 2 WITHOUT_LEASE
try notices 2 WITHOUT_READING_AGAIN
try notices 1 CLEAR_WITHOUT_COMPARING
try notices 1 REFRESH_CLEARS_WITHOUT_COMPARING
try notices 3 COMMIT_WITHOUT_COMPARING
try notices 3 KEY_LOST
try notices 3 WITHOUT_REVISIONS -DLOSES_LOCKS
try notices 1 WITHOUT_FENCE "${fenced[@]}"
try notices 7 WITHOUT_FENCE "${fenced[@]}"
try notices 8 WITHOUT_FENCE "${fenced[@]}"
try notices 2 LEASE_NOT_KEPT_ALIVE "${fenced[@]}"
try notices 2 SENDS_UNDER_LOST_LEASE "${fenced[@]}"
try notices 2 SENDS_AFTER_STOP "${fenced[@]}"
try notices 2 GIVES_UP_WITH_THE_LOCK "${fenced[@]}"
try notices 2 RENEWS_A_LEASE_THAT_IS_HELD "${fenced[@]}"
try notices 2 DERIVATION_WITHOUT_LEASE
try notices 2 DERIVATION_DROPS_REFRESH_TOKEN
try notices 1 DERIVATION_WITHOUT_INTENT
try notices 1 REFUSED_DERIVATION_CLEARS
try notices 1 DERIVATION_REFUSAL_DECIDES
try notices 1 REFUSED_EXCHANGE_CLEARS
try notices 1 EXCHANGE_FORGETS_INTENT
try notices 4 USE_BEFORE_SAVE
try notices 5 SEND_BEFORE_RESERVE
try notices 6 LOCK_IS_FORGOTTEN
try notices 6 LEASE_IS_FORGOTTEN -DLEAVES=0
try notices 7 CLEAR_BEFORE_QUEUE
try notices 7 DELIVER_WITHOUT_LOCK
try notices 7 REPLACED_IS_DROPPED -DSECOND=1
try notices 1 QUEUE_OUTLIVES_REFRESH -DFAULTS=0
try notices 1 QUEUE_OUTLIVES_EXCHANGE -DFAULTS=0
for mistake in REPLACED_ENDS_OTHER_GRANT ORPHAN_ENDS_OTHER_GRANT QUEUE_ENDS_OTHER_GRANT; do
    try notices 1 "$mistake" -DONE_USER -DFAULTS=0 -DDEATHS=0
done
try notices 7 REPLACED_IS_DROPPED -DONE_USER -DFAULTS=0 -DDEATHS=0
try notices 1 FORGET_EARLIER_INTENT
try notices 1 FORGET_UNLESS_SILENT
try notices 1 SAVE_FORGETS_LATER_INTENT -DONE_PROCESS -DSECOND=1 -DDEATHS=0
try notices 1 EXCHANGE_CUT_OFF
try notices 2 EXCHANGE_CUT_OFF
try notices 1 SIGNAL_NOT_HELD
try notices 2 SIGNAL_NOT_HELD
try notices 8 LATE_TOKENS_DROPPED
try notices 8 INTERRUPTED_SIGN_IN_DROPPED
try notices 8 UNSAVED_SIGN_IN_DROPPED
try notices 9 LEASE_IS_ACCOUNT_LOCK
try notices 9 SIGN_OUT_TAKES_LEASE

wait
failures=0
for ((claim = 1; claim <= tried; claim++)); do
    cat "$claim/report.txt"
    cat "$claim/errors.txt" >&2
    if [[ -e $claim/failed ]]; then failures=$((failures + 1)); fi
    if ((claim == of_all && failures == 0)); then
        for property in 1 2 3 4 5 6 7 8 9; do report holds "P${property}: ${properties[$property]}"; done
    fi
done
((failures == 0)) || {
    echo "${failures} of the claims do not stand" >&2
    exit 1
}
