#!/usr/bin/env bash
# Measures: tokens at the pace of a language model: CPU time of a token and the gaps between tokens, beside FastAPI, a bare
#   fasthttp handler and, with --ref, another commit of Pinion.
# Run: bench/pace.sh [--ref COMMIT] [--streams 64,256] [--rounds N] … (--help lists the rest)
# Needs: Go, an otherwise idle machine, and a Python (BENCH_PYTHON), which gets FastAPI at bench/run.sh's versions in
#   .cache/bench.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/lib/commit.sh
readonly venv=$PWD/.cache/bench/venvs/fastapi-openai
python=${BENCH_PYTHON:-python3}
ref=()
if [[ ${1:-} == --ref ]]; then
  folder=$(build_commit "$2")
  ref=(--ref "$folder/pinion" --name "$2")
  shift 2
fi
if [[ " $* " != *" --help "* ]]; then
  ./build.sh >/dev/null
  go build -o bin/bench-bare ./bench/bare
  if ! cmp -s bench/peers/fastapi/requirements.txt "$venv/.made-from"; then
    echo "bench: installing FastAPI" >&2
    "$python" -m venv --clear "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r bench/peers/fastapi/requirements.txt
    cp bench/peers/fastapi/requirements.txt "$venv/.made-from"
  fi
fi
exec "$python" bench/pace.py --fastapi "$venv/bin/python" "${ref[@]}" "$@"
