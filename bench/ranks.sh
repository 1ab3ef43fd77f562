#!/usr/bin/env bash
# Measures: what ranks cost: the median of a prediction with one rank and with several, a loop of all-reduces of 4 MB beside
#   the same one under torchrun, the time from a rank's death to the next answer, and how often a frame of 6 MB is copied.
#   The figures go into docs/how-to/several-gpus.md.
# Run: bench/ranks.sh [--rounds N] [--requests N] [--sums N] [--ranks N] [--python PATH]
# Needs: Go, a Python with torch (PATH; default: Debian's, which ./build.sh test-full unpacks), an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
exec python3 bench/ranks.py --pinion bin/pinion "$@"
