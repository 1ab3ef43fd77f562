#!/usr/bin/env bash
# Measures how long a killed worker is missed: bench/recover.sh [--kills N] … (bench/recover.sh --help lists the rest).
# Wants an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh >/dev/null
exec "${PYTHON:-python3}" bench/recover.py "$@"
