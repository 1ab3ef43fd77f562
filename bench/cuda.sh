#!/usr/bin/env bash
# Measures: the start of a worker with and without the start of the CUDA driver on a side thread, and shows that the
#   model uses that context. The figures go into docs/explanation/cuda.md.
# Run: bench/cuda.sh [--runs N] [--python PATH] [--size N]
# Needs: bin/pinion and an NVIDIA GPU; without one it says so and ends with 0. PATH is the Python of the model
#   (default: the one that pinion takes); the model multiplies by torch if it is there, else by libcublas, else it
#   only moves memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 bench/cuda/measure.py --pinion bin/pinion "$@"
