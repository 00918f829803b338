# shellcheck shell=bash
# Completion as bash-completion does it: the file is loaded by the name of the command. completed SHARE LINE: what completes
# the line, with the files of the folder SHARE.
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
