#!/usr/bin/env bash
# Measures: Pinion beside its peers, and writes docs/reference/benchmarks.md.
# Run: bench/run.sh [--rows echo,…] [--peers pinion,mosec,…] (--help lists the rest)
# Needs: Go, wrk, an otherwise idle machine, and Python 3.10 to 3.13 (BENCH_PYTHON; default: python3.12, else
#   python3), which gets the peers at pinned versions in .cache/bench.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source-path=SCRIPTDIR
source bench/lib/install.sh

die() {
  echo "bench: $*" >&2
  exit 2
}

# install_batching installs the Go server for which ventu's workers are made, if Go's module proxy has it.
install_batching() {
  [[ -x .cache/bench/go/batching || -e .cache/bench/go/missing ]] && return
  mkdir -p .cache/bench/go
  GOBIN=$PWD/.cache/bench/go GOFLAGS=-mod=mod go install github.com/kemingy/batching@latest 2>.cache/bench/go/missing &&
    rm .cache/bench/go/missing
}

command -v wrk >/dev/null || die "wrk is missing: apt-get install wrk"
choose_python
./build.sh >/dev/null
go build -o bin/bench-bare ./bench/bare
go build -o bin/bench-load ./bench/load
if [[ " $* " != *" --help "* && " $* " != *" --page-only "* ]]; then
  for folder in bench/peers/*/; do
    install_peer "$(basename "$folder")"
  done
  install_batching || echo "bench: github.com/kemingy/batching could not be fetched" >&2
fi
install report bench/lib/requirements.txt
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench exec "$venvs/report/bin/python" -m lib "$@"
