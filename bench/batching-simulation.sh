#!/usr/bin/env bash
# Measures: the delays of batch policies, and writes docs/explanation/batching-simulation.md with its plot, from the
#   simulations of runtime/batch.
# Run: bench/batching-simulation.sh
# Needs: Go, and a Python with matplotlib: PYTHON=… names it.
set -euo pipefail
cd "$(dirname "$0")/.."
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
go test ./runtime/batch -count 1 -run '^TestReport_Simulation$' -args -report "$data"
"${PYTHON:-python3}" bench/batching-simulation.py "$data/batching-simulation.csv" docs/explanation/batching-simulation.svg
cp "$data/batching-simulation.md" docs/explanation/
