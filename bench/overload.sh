#!/usr/bin/env bash
# Measures: a server under ten times the load that it can serve, beside one at its limit: throughput, and the times of
#   accepted and of refused requests.
# Run: bench/overload.sh [-seconds N] [-workers N] … (-help lists the rest)
# Needs: Go, Python, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
go build -o bin/bench-overload ./bench/overload
exec bin/bench-overload "$@"
