#!/usr/bin/env bash
# Measures: a transformer on an NVIDIA GPU by one slot, several workers, threads and batches: rate, time of one alone, memory
#   of the GPU and of the machine. The figures go into docs/explanation/cuda.md.
# Run: bench/gpu.sh [--python PATH] [--seconds S] [--rounds N]
# Needs: bin/pinion, Go for bench/load (or --load PATH), an NVIDIA GPU, a Python with torch (PATH).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 bench/gpu.py "$@"
