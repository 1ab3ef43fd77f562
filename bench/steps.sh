#!/usr/bin/env bash
# Measures: tokens a second of batched methods, awaited and called on threads, beside a bare loop over the same engine. The
#   figures go into docs/how-to/continuous-batching.md.
# Run: bench/steps.sh [--rounds N] [--sequences N]
# Needs: Go, Python, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
exec python3 bench/steps.py --pinion bin/pinion --python "$(command -v python3)" "$@"
