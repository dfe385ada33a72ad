#!/bin/sh
# Create a virtual environment with the first Python that can run mempal, or say what is missing.
#
# usage: [PYTHON=python3.12] tools/venv.sh FOLDER
set -eu

folder=$1
if [ -n "${PYTHON:-}" ]; then
    set -- "$PYTHON"
else
    set -- python3.13 python3.12 python3.11 python3 python
fi
without_venv=

for candidate in "$@"; do
    # A name on PATH is not yet a Python: version managers leave stubs there that only fail.
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    if ! "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
        without_venv="$without_venv $candidate"
        continue
    fi
    echo "creating $folder with $("$candidate" --version)"
    exec "$candidate" -m venv --clear "$folder"
done

if [ -n "$without_venv" ]; then
    echo "error: the venv module is missing from:$without_venv" >&2
    echo "hint: install it (Debian, Ubuntu: apt install python3-venv), or name a Python: make PYTHON=..." >&2
else
    echo "error: no Python 3.11 or newer that works (tried: $*)" >&2
    echo "hint: install one, or name it: make PYTHON=/path/to/python3" >&2
fi
exit 1
