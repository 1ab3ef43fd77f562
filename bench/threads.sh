#!/usr/bin/env bash
# Measures: predictions of a synchronous model on threads, beside one thread, several workers, FastAPI's thread pool and
#   LitServe. The figures go into docs/how-to/threads.md.
# Run: bench/threads.sh [--rounds N] [--seconds S] [--free-threaded PATH]
# Needs: Go, Python, wrk, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v wrk >/dev/null || { echo "bench: wrk is missing: apt-get install wrk" >&2; exit 2; }
readonly venv=$PWD/.cache/bench/venvs/threads
./build.sh >/dev/null
if [[ ! -x $venv/bin/litserve ]]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q -r bench/peers/fastapi/requirements.txt -r bench/peers/litserve/requirements.txt numpy==2.2.6
fi
exec python3 bench/threads.py --pinion bin/pinion --python "$venv/bin/python" "$@"
