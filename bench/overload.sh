#!/usr/bin/env bash
# Measures: a server that is asked for ten times what it can do, beside one at its limit: throughput, the times of
#   what it accepts, the times of its refusals.
# Run: bench/overload.sh [-seconds N] [-workers N] … (-help lists the rest)
# Needs: Go, Python, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
go build -o bin/bench-overload ./bench/overload
exec bin/bench-overload "$@"
