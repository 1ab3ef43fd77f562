#!/usr/bin/env bash
# Times how long a model is away whose worker is killed, with and without a preload process (--preload), where its imports
# take 3 s: bench/preload.sh [--rounds N] [--seconds S] [--python PATH]. The figures go into docs/how-to/preload.md.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
exec python3 bench/preload.py --pinion bin/pinion "$@"
