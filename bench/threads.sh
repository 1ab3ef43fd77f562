#!/usr/bin/env bash
# Measures: predictions of a synchronous model on threads, beside one thread, several workers, FastAPI's thread pool and
#   LitServe; and one model of ONNX Runtime on threads, workers, in batches and async. The figures go into docs/how-to/choose.md and
#   threads.md.
# Run: bench/threads.sh [--ways] [--rounds N] [--seconds S] [--free-threaded PATH]; --ways measures that model only.
# Needs: Go, Python, wrk, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v wrk >/dev/null || { echo "bench: wrk is missing: apt-get install wrk" >&2; exit 2; }
readonly venv=$PWD/.cache/bench/venvs/threads
./build.sh >/dev/null
if ! [[ -x $venv/bin/litserve && -x $venv/bin/magika ]]; then
  python3 -m venv --clear "$venv"
  "$venv/bin/python" -m pip install -q -r bench/peers/fastapi/requirements.txt -r bench/peers/litserve/requirements.txt \
    -r bench/models/ways/requirements.txt
fi
exec python3 bench/threads.py --pinion bin/pinion --python "$venv/bin/python" "$@"
