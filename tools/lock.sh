#!/bin/sh
# Write locks/runtime.txt and locks/dev.txt from pyproject.toml: exact versions with hashes, valid for every supported
# Python and platform, naming no index. Versions already locked are kept unless --upgrade is given.
#
# usage: [PYTHON=python3.12] tools/lock.sh [--upgrade]
set -eu

uv_version=0.13.9  # one resolver everywhere, so that equal input gives an equal lock
oldest_python=3.11

cd "$(dirname "$0")/.."

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM
tools/venv.sh "$place/venv"
"$place/venv/bin/python" -m pip install --quiet "uv==$uv_version"

# resolve NAME GROUP [OPTION ...]: put the locked requirements, under our own heading, into locks/NAME.txt
resolve() {
    name=$1
    group=$2
    shift 2
    if [ -f "locks/$name.txt" ]; then
        cp "locks/$name.txt" "$place/$name.txt"
    fi
    "$place/venv/bin/uv" pip compile pyproject.toml --group "$group" --quiet \
        --universal --python-version "$oldest_python" --generate-hashes \
        --no-header --no-emit-index-url --no-emit-find-links --output-file "$place/$name.txt" "$@"
    {
        echo "# Written by \`make lock\` from pyproject.toml; do not edit."
        cat "$place/$name.txt"
    } >"$place/headed"
    cp "$place/headed" "locks/$name.txt"
}

resolve runtime build "$@"
resolve dev dev --constraint locks/runtime.txt "$@"
