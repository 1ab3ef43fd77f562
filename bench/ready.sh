#!/usr/bin/env bash
# Measures: how long a model does not answer after its worker is killed, how long workers take to start, and the memory of
#   several: without --preload, with --preload, with --preload=setup, and behind gunicorn's preload_app. The figures go into
#   docs/how-to/preload.md.
# Run: bench/ready.sh [--imports S] [--setup S] [--weights KIND,…] [--mib N] [--kills N] [--predictions N] [--python PATH]
#   (--help has the rest). --weights torch needs --python with PyTorch and NumPy, and leaves gunicorn out.
# Needs: Go, Python, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
source bench/lib/install.sh
choose_python
./build.sh >/dev/null
install ready bench/peers/gunicorn/requirements.txt
exec python3 bench/ready.py --pinion bin/pinion --python "$venvs/ready/bin/python" "$@"
