#!/bin/sh
# Finds a Python that can run Backpass and hands over to `python -m setup`.
#
# PYTHON=... chooses one. Without it an environment that is there is used again, else the newest
# Python found. Each candidate is run, not only looked up: a version manager's shim may exist for a
# version that is not installed.
set -eu
cd "$(dirname "$0")/.."

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

supported() {
    "$1" -c 'import sys; raise SystemExit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
        >/dev/null 2>&1
}

find_python() {
    for candidate in .venv/bin/python python3.13 python3.12 python3.11 python3; do
        if supported "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

case "$(uname -s)/$(uname -m)" in
    Linux/x86_64 | Linux/aarch64) ;;
    *)
        fail "Backpass runs on Linux on x86_64 or aarch64; this is $(uname -s) on $(uname -m)." \
            "On Windows use WSL2, on a Mac a Linux container or virtual machine, and start it there."
        ;;
esac

if [ -n "${PYTHON:-}" ]; then
    supported "$PYTHON" || fail \
        "PYTHON=$PYTHON is not a Python 3.11, 3.12 or 3.13 that runs here." \
        "Name one that does, or leave PYTHON out to have one found."
else
    PYTHON=$(find_python) || fail \
        "Backpass needs Python 3.11, 3.12 or 3.13, and found none (looked for python3.13," \
        "python3.12, python3.11 and python3 on PATH). Install one, for example with" \
        "'apt install python3 python3-venv' on Debian 12 or Ubuntu 24.04, or say where one is:" \
        "make setup PYTHON=/path/to/python3.12"
fi

exec "$PYTHON" -S -m setup "$@"
