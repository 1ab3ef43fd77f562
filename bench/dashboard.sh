#!/usr/bin/env bash
# Measures: what the live view costs, with and without a client that follows it.
# Run: bench/dashboard.sh [--rounds N] [--seconds S] … (--help lists the rest)
# Needs: Go, Python, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
go build -o bin/bench-load ./bench/load
exec python3 bench/dashboard.py "$@"
