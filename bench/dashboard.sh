#!/usr/bin/env bash
# Measures what the live view costs, with and without a client that follows it: bench/dashboard.sh [--rounds N] [--seconds S] …
# (bench/dashboard.sh --help lists the rest). Wants an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
go build -o bin/bench-load ./bench/load
exec python3 bench/dashboard.py "$@"
