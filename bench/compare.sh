#!/usr/bin/env bash
# Measures: this checkout beside another commit: rate and CPU time of front and worker at 1, 8 and 64 connections, start and
#   memory, in turn, as ratios with their spread.
# Run: bench/compare.sh REF [--rounds N] [--seconds S] [--starts N] …
#   (--help lists the rest)
# Needs: Go, Python, wrk, an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
  echo "bench: $*" >&2
  exit 2
}

. bench/lib/commit.sh
[[ ${1:-} != -* && -n ${1:-} ]] || die "which commit? bench/compare.sh REF"
command -v wrk >/dev/null || die "wrk is missing: apt-get install wrk"
other=$(build_commit "$1")
./build.sh build >&2
# A copy, as the other is: ext4 keeps what the linker wrote in larger folios, of which a process has more in memory.
this=.cache/compare/this
mkdir -p "$this" && cp --remove-destination bin/pinion* "$this"
exec python3 bench/compare.py --ref "$other/pinion" --this "$this/pinion" --name "$1" "${@:2}"
