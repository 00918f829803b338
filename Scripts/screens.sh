#!/usr/bin/env bash
# Takes pictures of what users see: the `account` command on terminals of 80 and 40 columns, and the start page of the documentation on
# a desktop and on a phone. It fails if a picture would not contain its expected text. People look at the pictures for
# text that is cut off, wrapped badly or hard to understand.
#
# screens.sh FOLDER [PROGRAMS [SITE]]: the folder of the pictures, of the programs (default: where `swift build` puts them), and of the
# documentation (default: .build/documentation; its pages are omitted if it does not exist).
set -euo pipefail
mkdir -p "${1:?usage: screens.sh FOLDER [PROGRAMS [SITE]]}"
pictures=$(cd "$1" && pwd)
rm -f "$pictures"/*.svg "$pictures"/*.png
root=$(cd "$(dirname "$0")/.." && pwd)
PATH=${2:-$("$root/Scripts/build.sh" root --show-bin-path)}:$PATH
site=${3:-$root/.build/documentation}
# shellcheck source=Scripts/terminal.sh
source "$root/Scripts/terminal.sh"

work=$(mktemp -d)
servers=() homes=()
cleanup() {
    end_terminal
    local pid
    for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$work" "${homes[@]}"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
unset "${!ACCOUNT_@}" "${!XDG_@}"

# start COMMAND…: starts a server, and sets `address` to the one that it prints.
start() {
    # Remove the output of the previous server.
    : >"$work/server.out"
    "$@" >"$work/server.out" 2>&1 &
    servers+=("$!")
    for _ in $(seq 100); do
        address=$(sed -n -E 's/.*(listening on |Serving HTTP on .*\()(http[^/]*:\/\/[0-9.:]+).*/\2/p' "$work/server.out")
        if [[ $address ]]; then return; fi
        sleep 0.1
    done
    echo "this server does not start: $*" >&2
    exit 1
}

# MARK: Terminals

# picture NAME PATTERN: draws the screen, after the pattern has appeared on it.
picture() {
    await_text "$2"
    colored_screen >"$work/screen"
    "$root/Scripts/terminal_svg.py" --exact --columns "$columns" --title "$1, $columns columns" <"$work/screen" \
        >"$pictures/$1-$columns.svg"
    taken+=1
}

# cancel: ends the command if it is asking a question or waiting.
cancel() {
    is_at_prompt || type_keys C-c
    await_prompt
}

# terminal: starts a new terminal, with a browser that does nothing.
terminal() { begin_terminal "$columns" 60 BROWSER=true; }

terminals() {
    start auth-server --quiet --device-interval 1
    local service=${servers[-1]} issuer=$address
    for columns in 80 40; do
        # The name has the same length as /home/alice, because messages contain it.
        homes[columns]=$(mktemp -d "${TMPDIR:-/tmp}/XXXXXX")
        export HOME=${homes[columns]}

        terminal
        begin_command 'account login'
        await_text 'Where do you want to sign in'
        type_text "$issuer"
        type_keys Enter
        picture chooser 'Enter a number \(leave empty for 1\)'
        cancel

        terminal
        begin_command "account login --service github"
        await_text 'How do you want to sign in'
        type_keys Enter
        picture client-id 'https://github\.com/settings/'
        cancel

        terminal
        begin_command "account login --device --issuer $issuer"
        picture device '^ +[A-Z]{4}-[A-Z]{4}'
        cancel

        terminal
        begin_command "account login --web --issuer $issuer"
        picture web 'https?://.*/authorize\?'
        cancel

        terminal
        run_command 'account stauts'
        picture unknown-command "Did you mean 'status'"

        terminal
        run_command "account login --device --issuer $issuer --client-id wrong"
        picture wrong-client-id 'Check --client-id'

        account login --issuer "$issuer" --username alice --password-stdin <<<'correct horse battery staple' >"$work/log" 2>&1 || {
            cat "$work/log" >&2
            exit 1
        }
        terminal
        run_command 'account status'
        picture status 'alice'

        terminal
        run_command 'account doctor'
        picture doctor 'No problems found'
    done

    kill "$service"
    wait "$service" || true
    for columns in 80 40; do
        HOME=${homes[columns]}
        terminal
        run_command 'account whoami --max-age 0'
        picture offline 'refused'
    done
    end_terminal
}

# MARK: The documentation

# page NAME WIDTH HEIGHT: takes pictures of the start page in light and dark colors. The browser's windows have a minimum width, so the
# page is in a frame, which has the same origin.
page() {
    printf '<!DOCTYPE html><style>body{margin:0}</style><iframe src="/documentation/" width="%d" height="%d" style="border:0"></iframe>' \
        "$2" "$3" >"$work/site/$1.html"
    local scheme file
    for scheme in light:1 dark:0; do
        file=$pictures/$1-${scheme%:*}.png
        browser --window-size="$2,$3" --blink-settings=preferredColorScheme="${scheme#*:}" --screenshot="$file" \
            "$address/$1.html" >/dev/null
        # The size of a picture without text is less than half of this.
        if [[ ! -s $file ]] || (($(stat --format=%s "$file") < 15000)); then
            echo "the picture $file is blank" >&2
            exit 1
        fi
        taken+=1
    done
}

browser() {
    HOME=$work timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/browser" \
        --virtual-time-budget=8000 "$@" 2>>"$work/browser.log" || {
        cat "$work/browser.log" >&2
        exit 1
    }
}

documentation() {
    mkdir "$work/site"
    ln -s "$(cd "$site" && pwd)"/* "$work/site"
    start python3 -u -m http.server --bind 127.0.0.1 --directory "$work/site" 0
    browser --dump-dom "$address/documentation/" >"$work/dom"
    local text
    for text in 'AccountKit' 'AccountCommands'; do
        grep -q "$text" "$work/dom" || {
            echo "the start page of the documentation does not contain \"$text\"" >&2
            exit 1
        }
    done
    page documentation-desktop 1280 900
    page documentation-phone 390 844
}

declare -i taken=0
terminals
if [[ -d $site ]]; then documentation; else echo "no documentation in $site: no pictures of it" >&2; fi
echo "$taken pictures in $pictures"
