#!/usr/bin/env bash
# Writes the screen of a terminal to standard output, for the picture in the README: a tool signs its user in, works offline, and passes its
# token to git. Run by `make demo-picture`. Leaves no processes or files behind.
#
# No output is faked. The tool is the example `gists` under another name, and sends requests to the test server. git pushes to a server that
# checks the token. The script waits, so that the times on the screen differ. If a step does not print the expected text, it fails.
#
# picture.sh [FOLDER]: the folder of the programs (default: where `swift build` puts them). WAIT: the seconds offline, at least 60, so that
# the access token expires (default: 125).
set -euo pipefail

examples=$(cd "$(dirname "$0")" && pwd)
PATH=${1:-$(swift build --package-path "$examples" --scratch-path "$examples/../.build" --show-bin-path)}:$PATH
# shellcheck source=Scripts/terminal.sh
source "$examples/../Scripts/terminal.sh"
unset "${!ACCOUNT_@}" "${!XDG_@}" "${!GISTS_@}" "${!GIT_@}"

work=$(mktemp -d)
servers=()
cleanup() {
    end_terminal
    local pid
    for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# start NAME COMMAND…: starts a server, and sets `url` to the address that it prints.
start() {
    local name=$1
    shift
    : >"$work/$name.out"
    "$@" >"$work/$name.out" &
    servers+=("$!")
    for _ in $(seq 100); do
        url=$(sed -n 's/^listening on //p' "$work/$name.out")
        if [[ $url ]]; then return; fi
        sleep 0.1
    done
    echo "the server $name does not start" >&2
    exit 1
}
control() { curl --silent --show-error --fail --output /dev/null --header 'Content-Type: application/json' "$@"; }

# The service. Its access tokens are valid for one minute, so they expire while the network is down.
service() { start service auth-server --quiet --port "$1" --state "$work/service.json" --access-token-lifetime 60; }
password='correct horse battery staple'
service 0
ISSUER=$url
for note in 'groceries.md|For the weekend' 'talk.md|Slides for Friday'; do
    # Wait, since the list is sorted by time, in seconds.
    sleep 1
    control "$ISSUER/control/gists" --data \
        "{\"user\":\"alice\",\"public\":true,\"description\":\"${note#*|}\",\"files\":{\"${note%|*}\":{\"content\":\"…\"}}}"
done

# The browser signs alice in on the service's page. Its argument is the address of this page, or of a local page that redirects to it.
mkdir "$work/bin" "$work/home"
cat >"$work/bin/browser" <<BROWSER
#!/usr/bin/env bash
address=\$1
if [[ \$address == file://* ]]; then
    address=\$(sed -n 's/.*content="0; url=\([^"]*\)".*/\1/p' "\${address#file://}" | sed 's/&amp;/\&/g')
fi
curl --silent --location --output /dev/null --data "\${address#*\?}" --data decision=approve --data username=alice \
    --data-urlencode 'password=$password' "\${address%%\?*}"
BROWSER
chmod +x "$work/bin/browser"

# The environment of the user: the tool, and a repository whose server checks tokens.
export HOME=$work/home
ln -s "$(command -v gists)" "$work/bin/notes"
PATH=$work/bin:$PATH
git init --quiet --bare --initial-branch=main "$work/repositories/team/notes.git"
start git python3 -B "$examples/../IntegrationTests/Fixtures/git/server.py" --folder "$work/repositories" --issuer "$ISSUER"
export GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0
cat >"$HOME/.gitconfig" <<GITCONFIG
[user]
	name = Alice
	email = alice@example.org
[init]
	defaultBranch = main
[credential]
	helper = "!notes account git-credential"
[push]
	default = current
GITCONFIG
git init --quiet "$work/notes"
cd "$work/notes"
git remote add origin "$url/team/notes.git"
{
    notes account login --issuer "$ISSUER" --username alice --password-stdin <<<"$password"
    notes account rule add "$url"
    # With these dates, the commits have the same names in each run.
    export GIT_AUTHOR_DATE=2026-11-22T09:30:00Z GIT_COMMITTER_DATE=2026-11-22T09:30:00Z
    git commit --allow-empty --message 'Draft the talk'
    git push
    git commit --allow-empty --message 'Finish the talk'
    notes account logout
} >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}

begin_terminal 104 40 BROWSER=browser GISTS_API="$ISSUER" \
    GIT_CONFIG_NOSYSTEM="$GIT_CONFIG_NOSYSTEM" GIT_TERMINAL_PROMPT="$GIT_TERMINAL_PROMPT"
run_command 'notes account login'
await_text 'Signed in as alice' 0
run_command 'notes list'
await_text 'groceries\.md' 0

kill "${servers[0]}"
wait "${servers[0]}" || true
sleep "${WAIT:-125}"
run_command 'notes account whoami --max-age 0  # the network is down'
await_text '^alice' 0
await_text '[Oo]ffline[^_]' 0

service "${ISSUER##*:}"
# AccountKit repeats a failed refresh only after a few seconds.
sleep 10
run_command 'git push --no-progress  # the network is back: a new token, the same session'
await_text 'main -> main' 0
curl --silent --fail "$ISSUER/control/log" | grep -q '"refreshes" *: *1\b' || {
    echo 'git did not push with a refreshed token' >&2
    exit 1
}

colored_text
