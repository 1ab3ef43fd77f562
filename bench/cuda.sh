#!/usr/bin/env bash
# Times the start of a worker with and without Pinion's start of the CUDA driver on a side thread, and shows that
# the model uses the context that was made there. Where there is no GPU it says so and ends with 0.
#
#   bench/cuda.sh [--runs N] [--python PATH] [--size N]
#
# PATH is the Python of the model (default: that which pinion would take); with torch installed there the model
# multiplies by torch, else by libcublas, else it only moves memory. The figures go into docs/explanation/cuda.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 bench/cuda/measure.py --pinion bin/pinion "$@"
