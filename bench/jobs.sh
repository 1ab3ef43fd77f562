#!/usr/bin/env bash
# Measures: the job queue and what it costs: rates, added latency, cancel and tokens across servers, balance, the direct path
#   beside --nats. The rates are compared with those of a bare client that makes the same writes.
# Run: bench/jobs.sh [-clients N] [-rounds N] [-only rates] … (-help lists the rest)
#      bench/jobs.sh -servers 3: the rates with three servers of NATS, beside those with one
# Needs: Go, Python, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
go build -o bin/bench-jobs ./bench/jobs
exec bin/bench-jobs "$@"
