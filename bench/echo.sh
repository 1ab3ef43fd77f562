#!/usr/bin/env bash
# Measures: Pinion beside a bare fasthttp handler.
# Run: bench/echo.sh [--rounds N] [--seconds S] … (--help lists the rest)
# Needs: Go, Python, wrk, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v wrk >/dev/null || { echo "bench: wrk is missing: apt-get install wrk" >&2; exit 2; }
./build.sh >/dev/null
go build -o bin/bench-bare ./bench/bare
exec python3 bench/echo.py "$@"
