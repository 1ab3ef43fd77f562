#!/usr/bin/env bash
# Measures: streams of OpenAI's chat API beside a FastAPI server that does the same.
# Run: bench/protocols-openai.sh [--rounds N] … (--help lists the rest)
# Needs: Go, an otherwise idle machine, and a Python (BENCH_PYTHON), which gets FastAPI at bench/run.sh's versions in
#   .cache/bench.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly venv=$PWD/.cache/bench/venvs/fastapi-openai
python=${BENCH_PYTHON:-python3}
if [[ " $* " != *" --help "* ]]; then
  ./build.sh >/dev/null
  if ! cmp -s bench/peers/fastapi/requirements.txt "$venv/.made-from"; then
    echo "bench: installing FastAPI" >&2
    "$python" -m venv --clear "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r bench/peers/fastapi/requirements.txt
    cp bench/peers/fastapi/requirements.txt "$venv/.made-from"
  fi
fi
exec "$python" bench/protocols-openai.py --fastapi "$venv/bin/python" "$@"
