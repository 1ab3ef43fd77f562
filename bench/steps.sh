#!/usr/bin/env bash
# Measures: tokens a second of batched methods, awaited and called on threads, beside a bare loop, Ray Serve's @serve.batch
#   and LitServe's loop for continuous batching, all over the same engine. The figures go into
#   docs/how-to/continuous-batching.md.
# Run: bench/steps.sh [--rounds N] [--sequences N] [--engines N] [--peers ray,litserve]
# Needs: Go, Python 3.10 to 3.13 (BENCH_PYTHON; default: python3.12, else python3), which gets the peers in .cache/bench, an
#   otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source-path=SCRIPTDIR
source bench/lib/install.sh
choose_python
./build.sh >/dev/null
install_peer ray
install_peer litserve
PYTHONDONTWRITEBYTECODE=1 exec "$python" bench/steps.py --pinion bin/pinion --python "$python" "$@"
