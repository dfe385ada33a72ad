#!/usr/bin/env bash
# Install a lock file and then this project (editable) into an environment, showing how far it is.
#
# Only wheels whose hash is in the lock are taken, and the lock holds the build backend too, so
# nothing that it does not name is downloaded or run. Dependencies are not worked out again: the
# lock is complete, and pip before 23.3 takes a newer release than the lock's for a requirement
# with an extra (`uvicorn[standard]`) and then refuses it. Modules are compiled when they are
# first imported: most of what is installed never is.
#
# usage: tools/install.sh PYTHON LOCK
set -euo pipefail

python=$1
lock=$2

install() {
    PYTHONUNBUFFERED=1 "$python" -m pip --disable-pip-version-check install --no-compile "$@"
}

# Count what pip reports on standard input; on a terminal, as it happens.
count_packages() {
    local line count=0
    while IFS= read -r line; do
        case $line in
            Collecting\ * | Processing\ *) count=$((count + 1)) ;;
            *) continue ;;
        esac
        if [ -t 1 ]; then
            printf '\r  %d packages' "$count"
        fi
    done
    if [ "$count" -gt 0 ] && [ -t 1 ]; then
        printf '\r'
    fi
    if [ "$count" -gt 0 ]; then
        echo "  $count packages"
    fi
}

echo "installing $lock (takes minutes the first time, seconds after that)"
install --only-binary :all: --no-deps --require-hashes --requirement "$lock" | count_packages
install --quiet --no-deps --no-build-isolation --editable .
"$python" -m pip --disable-pip-version-check check >/dev/null || {
    echo "error: $lock lacks a package that another one needs; run make lock" >&2
    exit 1
}
