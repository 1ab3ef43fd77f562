#!/usr/bin/env bash
# Measures: the Open Inference Protocol beside MLServer, Triton's Python backend and a bare fasthttp handler.
# Run: bench/protocols-oip.sh [--rounds N] … (--help lists the rest)
# Needs: Go, wrk, an otherwise idle machine, and Python 3.10 to 3.12 (BENCH_PYTHON), which gets MLServer at a pinned
#   version in .cache/bench and serves Pinion's model too. Triton comes in a Python package, if it can be had.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v wrk >/dev/null || { echo "bench: wrk is missing: apt-get install wrk" >&2; exit 2; }
readonly venv=$PWD/.cache/bench/venvs/mlserver requirements=bench/protocols/mlserver/requirements.txt
readonly triton=$PWD/.cache/bench/venvs/triton triton_requirements=tests/requirements-triton.txt
python=${BENCH_PYTHON:-python3}
if [[ " $* " != *" --help "* ]]; then
  ./build.sh >/dev/null
  go build -o bin/bench-bare ./bench/bare
  go build -o bin/bench-grpcload ./bench/grpcload
  if ! cmp -s "$requirements" "$venv/.made-from"; then
    echo "bench: installing MLServer" >&2
    "$python" -m venv --clear "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r "$requirements"
    cp "$requirements" "$venv/.made-from"
  fi
  if ! cmp -s "$triton_requirements" "$triton/.made-from"; then
    echo "bench: installing Triton" >&2
    { "$python" -m venv --clear "$triton" && "$triton/bin/pip" install -q --disable-pip-version-check -r "$triton_requirements" &&
      cp "$triton_requirements" "$triton/.made-from"; } || rm -rf "$triton"
  fi
fi
exec "$python" bench/protocols-oip.py --mlserver "$venv/bin/mlserver" --triton "$triton/bin/python" --python "$venv/bin/python" "$@"
