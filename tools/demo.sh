#!/bin/sh
# Mine this repository into a throw-away palace and ask it three questions.
#
# usage: tools/demo.sh MEMPAL
set -eu

cd "$(dirname "$0")/.."
mempal=$1
MEMPAL_HOME=$(mktemp -d)
export MEMPAL_HOME
trap 'rm -rf "$MEMPAL_HOME"' EXIT
trap 'exit 130' INT TERM

# show ARGUMENT ...: print a command as it would be typed, then run it
show() {
    printf '\n$ mempal'
    for argument in "$@"; do
        case $argument in
            *" "*) printf " '%s'" "$argument" ;;
            *) printf ' %s' "$argument" ;;
        esac
    done
    printf '\n'
    "$mempal" "$@"
}

show mine .
show search 'where are vectors packed into bytes' -n 2
show search find_git_root -n 2
show search 'why is a changed file not embedded again' -n 2

printf '\nThe palace of this demonstration is gone. To keep one: %s mine PATH\n' "$mempal"
