#!/usr/bin/env bash
# Measures: how long predictions fail after a worker is killed.
# Run: bench/recover.sh [--kills N] … (--help lists the rest)
# Needs: Go, Python (PYTHON=… names it), an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
exec "${PYTHON:-python3}" bench/recover.py "$@"
