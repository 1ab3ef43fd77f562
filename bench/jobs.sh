#!/usr/bin/env bash
# Measures the job queue and what it costs: rates, added latency, cancel and tokens across servers, the direct path beside
# --nats. bench/jobs.sh [-clients N] [-rounds N] … (bench/jobs.sh -help lists the rest). Wants an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
go build -o bin/bench-jobs ./bench/jobs
exec bin/bench-jobs "$@"
