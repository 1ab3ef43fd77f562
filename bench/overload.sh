#!/usr/bin/env bash
# Asks a server for ten times of what it can do, and prints how that compares with as much as it can do: throughput,
# the times of what it accepts, the times of its refusals. bench/overload.sh [-seconds N] [-workers N] …
# (bench/overload.sh -help lists the rest). Wants an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
go build -o bin/bench-overload ./bench/overload
exec bin/bench-overload "$@"
