#!/bin/sh
# Build the source distribution and from it the wheel; install that where no source tree is near,
# with the versions that users get, and use it there.
#
# usage: tools/wheel.sh PYTHON
set -eu

cd "$(dirname "$0")/.."
python=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM

"$python" -m build --no-isolation --outdir "$place/dist" . >/dev/null
"$python" -m venv "$place/venv"
install() {
    "$place/venv/bin/python" -m pip --disable-pip-version-check install --quiet --no-compile "$@"
}
install --only-binary :all: --no-deps --require-hashes --requirement locks/runtime.txt
install --no-deps "$place"/dist/*.whl

mkdir "$place/notes"
echo 'Kettles are descaled with vinegar every other Monday.' >"$place/notes/kitchen.md"
cd "$place/notes"
MEMPAL_HOME=$place/palace
export MEMPAL_HOME
mempal=$place/venv/bin/mempal

# has MODE QUESTION: the note is found
has() {
    "$mempal" search --json --mode "$1" "$2" | grep -q 'kitchen.md' || {
        echo "error: $1 search in the installed wheel does not find the note" >&2
        exit 1
    }
}

"$mempal" --version
"$mempal" mine .
has keyword 'vinegar'
has vector 'descaling kettles with vinegar'
echo "the wheel works: $(cd "$place/dist" && echo *)"
