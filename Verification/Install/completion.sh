# shellcheck shell=bash
# Completes like bash-completion, which loads a file by the name of the command. completed SHARE LINE: prints the completions
# of the line, with the files in the folder SHARE.
completed() {
    XDG_DATA_DIRS=$1 bash -c '
        source /usr/share/bash-completion/bash_completion
        command=${1%% *}
        _completion_loader "$command"
        COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=($1)
        [[ $1 == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        entry=$(complete -p "$command")
        function=${entry##*-F }
        "${function%% *}" "$command" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        echo "${COMPREPLY[*]}"' completing "$2"
}
