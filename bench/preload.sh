#!/usr/bin/env bash
# Measures: how long a model does not answer after its worker is killed, with and without --preload. Its imports take 3 s.
#   The figures go into docs/how-to/preload.md.
# Run: bench/preload.sh [--rounds N] [--seconds S] [--python PATH]
# Needs: Go, Python, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
exec python3 bench/preload.py --pinion bin/pinion "$@"
