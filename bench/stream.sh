#!/usr/bin/env bash
# Measures a stream of tokens: Pinion beside Starlette on uvicorn, and Cog's own runtime. bench/stream.sh [--rounds N] …
# (bench/stream.sh --help lists the rest). Installs the peers into .cache; wants an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
venv=.cache/venvs/bench-stream
if [[ ! -x $venv/bin/uvicorn ]]; then
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/pip" install -q -r bench/peers/requirements-stream.txt
fi
exec "$venv/bin/python" bench/stream.py "$@"
