#!/usr/bin/env bash
# Measures: the Open Inference Protocol beside MLServer and a bare fasthttp handler.
# Run: bench/protocols-oip.sh [--rounds N] … (--help lists the rest)
# Needs: Go, wrk, an otherwise idle machine, and Python 3.10 to 3.12 (BENCH_PYTHON), which gets MLServer at a pinned
#   version in .cache/bench and serves Pinion's model too.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v wrk >/dev/null || { echo "bench: wrk is missing: apt-get install wrk" >&2; exit 2; }
readonly venv=$PWD/.cache/bench/venvs/mlserver requirements=bench/protocols/mlserver/requirements.txt
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
fi
exec "$python" bench/protocols/oip.py --mlserver "$venv/bin/mlserver" --python "$venv/bin/python" "$@"
