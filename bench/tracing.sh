#!/usr/bin/env bash
# Measures: what traces cost: servers that send none, 1 % and all spans of their requests to a collector that keeps
#   nothing, loaded in turn.
# Run: bench/tracing.sh [--rounds N] [--seconds S] … (--help lists the rest)
# Needs: Go, Python, wrk, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v wrk >/dev/null || { echo "bench: wrk is missing: apt-get install wrk" >&2; exit 2; }
./build.sh >/dev/null
go build -o bin/bench-sink ./bench/sink
exec python3 bench/tracing.py "$@"
