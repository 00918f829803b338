# shellcheck shell=bash
# A terminal for scripts that show what a user sees: tmux(1) runs a shell, types commands into it, and copies the screen. Source this
# file, and set a trap that calls `end_terminal`.
#
# The programs run only with the variables HOME and PATH, and with the variables that are passed to `begin_terminal`.

terminal_folder=
terminal_tmux() { env -u TMUX tmux -u -S "$terminal_folder/socket" "$@"; }

# begin_terminal COLUMNS ROWS [NAME=VALUE…]: starts a shell on a new terminal, after ending the previous terminal.
begin_terminal() {
    local columns=$1 rows=$2
    shift 2
    end_terminal
    terminal_folder=$(mktemp -d)
    cat >"$terminal_folder/profile" <<'PROFILE'
PS1='\[\e[32m\]$\[\e[0m\] '
set +o history
PROFILE
    env -i HOME="$HOME" PATH="$PATH" LC_ALL=C.UTF-8 "$@" tmux -u -S "$terminal_folder/socket" -f /dev/null \
        new-session -d -x "$columns" -y "$rows" "exec bash --noprofile --rcfile '$terminal_folder/profile' -i"
    terminal_tmux set-option -g status off
    await_prompt
}

end_terminal() {
    [[ $terminal_folder ]] || return 0
    terminal_tmux kill-server 2>/dev/null || true
    rm -rf "$terminal_folder"
    terminal_folder=
}

# The screen as text; wrapped lines are joined.
screen() { terminal_tmux capture-pane -p -J -S - | sed 's/ *$//'; }

# The same with colors (ECMA-48, SGR), and the screen with colors and with its own line ends.
colored_text() { terminal_tmux capture-pane -p -e -J -S -; }
colored_screen() { terminal_tmux capture-pane -p -e -S -; }

# type_keys KEY…: presses keys, such as Enter or C-c.
type_keys() { terminal_tmux send-keys "$@"; }

# type_text TEXT: types text.
type_text() { terminal_tmux send-keys -l -- "$1"; }

# await_text PATTERN [SECONDS]: waits until a line of the screen matches an extended regular expression.
await_text() {
    local end=$((SECONDS + ${2:-20}))
    until screen | grep -qE -- "$1"; do
        if ((SECONDS > end)); then
            printf 'The screen does not contain "%s":\n' "$1" >&2
            screen | grep -v '^$' >&2
            return 1
        fi
        sleep 0.05
    done
}

# Whether the shell is ready for the next command.
is_at_prompt() { [[ $(screen | grep -v '^$' | tail -n 1) == '$' ]]; }

# await_prompt [SECONDS]: waits until the command ends.
await_prompt() {
    local end=$((SECONDS + ${1:-20}))
    until is_at_prompt; do
        if ((SECONDS > end)); then
            printf 'The command does not end:\n' >&2
            screen | grep -v '^$' >&2
            return 1
        fi
        sleep 0.05
    done
}

# begin_command COMMAND: types a command, and starts it.
begin_command() {
    type_text "$1"
    # After this loop, the next prompt is the prompt after the command.
    local end=$((SECONDS + 20))
    while is_at_prompt; do
        if ((SECONDS > end)); then
            printf 'The terminal does not show "%s".\n' "$1" >&2
            return 1
        fi
        sleep 0.05
    done
    type_keys Enter
}

# run_command COMMAND [SECONDS]: types a command, and waits until it ends.
run_command() {
    begin_command "$1"
    await_prompt "${2:-20}"
}
