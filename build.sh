#!/usr/bin/env bash
# Builds, tests and demonstrates Pinion. `./build.sh help` lists the commands. Those for releases are in deploy/release.sh, those
# for tests in tests/*.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly cache=$PWD/.cache
readonly python_versions='3.10 to 3.15' # of CPython, which are tested

say() { printf 'build.sh: %s\n' "$*" >&2; }

die() {
  say "$@"
  exit 1
}

## help             this list
cmd_help() {
  echo "usage: ./build.sh [COMMAND]"
  echo
  sed -n 's/^## /  /p' build.sh deploy/release.sh tests/{suites,sanitizers,images,release,cluster}.sh
}

# ---- requirements of the machine ----

# install WHAT PACKAGE... installs Debian packages as root, or ends with the command that would.
install() {
  local what=$1 as_root=()
  shift
  local apt=(apt-get install -y --no-install-recommends "$@")
  command -v apt-get >/dev/null || die "$what is missing: install what your system calls $*"
  if [[ $(id -u) != 0 ]]; then
    sudo -n true 2>/dev/null || die "$what is missing: run  sudo ${apt[*]}"
    as_root=(sudo -n)
  fi
  say "$what is missing: running  ${apt[*]}"
  # A fresh image has empty or old package lists. Fetching them takes a while, so it is done only if the first attempt fails.
  steadily "installing" quietly "${as_root[@]}" "${apt[@]}" ||
    { steadily "fetching the lists of packages" quietly "${as_root[@]}" apt-get update && steadily "installing" quietly "${as_root[@]}" "${apt[@]}"; } ||
    die "$what is missing, and this failed: ${apt[*]} (see $cache/install.log)"
}

# steadily WHAT COMMAND... runs a command that is silent for minutes, and says every 5 seconds that it is at work.
steadily() {
  local what=$1 begun=$SECONDS status=0 ended
  shift
  # read ends with more than 128 at its time-out, and with 1 when the command has ended and the pipe is closed.
  exec {ended}> >(while read -r -t 5 || [[ $? -gt 128 ]]; do say "$what: $((SECONDS - begun)) s"; done)
  "$@" {ended}>&- || status=$?
  exec {ended}>&-
  return $status
}

# quietly runs a command with its output in a file, one at a time: the tests install from several processes.
quietly() {
  mkdir -p "$cache"
  DEBIAN_FRONTEND=noninteractive flock "$cache/install.lock" "$@" >"$cache/install.log" 2>&1 </dev/null
}

# need_go puts a Go that can build this module first on the PATH. A Go from 1.21 on fetches the right one by itself.
need_go() {
  local need candidate found=none
  need=$(awk '$1 == "go" { print $2 }' go.mod)
  for candidate in go /usr/local/go/bin/go "$HOME"/go/bin/go "$HOME"/sdk/go*/bin/go /usr/lib/go-*/bin/go; do
    candidate=$(command -v "$candidate") || continue
    if "$candidate" list -m >/dev/null 2>&1; then
      PATH=$(dirname "$candidate"):$PATH
      return
    fi
    found=$("$candidate" version 2>/dev/null || echo "$candidate, which does not run")
  done
  die "Go $need or newer is needed (found: $found): get it from https://go.dev/dl/ and put it on the PATH"
}

cc_works() {
  printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | "$(go env CC)" -x c - -o /dev/null 2>/dev/null
}

need_cc() {
  cc_works && return
  install "a C compiler" gcc libc6-dev
  cc_works || die "the C compiler $(go env CC) does not compile even an empty program"
}

# ---- build ----

# stamp prints the linker's flags with the version. It comes from git, so that two builds of one commit are the same file; outside
# a git checkout it comes from PINION_VERSION and SOURCE_DATE_EPOCH. PINION_DOCS is the address of the documents' site, to which
# help and pages link.
stamp() {
  local version commit=unknown seconds=${SOURCE_DATE_EPOCH:-} package=pinion/cmd/internal/version
  version=${PINION_VERSION:-$(git describe --tags --match 'v[0-9]*' 2>/dev/null || echo v0.1.0-dev)}
  if git rev-parse --verify -q HEAD >/dev/null 2>&1; then
    commit=$(git rev-parse --short=12 HEAD)
    # Not diff-index, which reports copied or touched files as changed. File modes are ignored: some file systems have none.
    [[ -z $(git -c core.fileMode=false status --porcelain --untracked-files=no) ]] || commit+=-dirty
    seconds=${seconds:-$(git log -1 --format=%ct)}
  fi
  echo "-X $package.Pinion=${version#v} -X $package.Commit=$commit -X $package.Date=$(date -u -d "@${seconds:-0}" +%FT%TZ)${PINION_DOCS:+ -X $package.Docs=$PINION_DOCS}"
}

# go_build OUTPUT [FLAG...] builds the command, and beside it pinion-nats, which `--nats embed` starts; -trimpath keeps the path of
# the checkout out of them. With grpcnotrace the linker leaves out text/template, and all methods that a template could call.
# Libraries of the model find Py_GetArgcArgv in the binary (pyembed/process_argv.c).
go_build() {
  local output=$1 export=-Wl,--export-dynamic-symbol=Py_GetArgcArgv
  shift
  CGO_ENABLED=1 go build -tags grpcnotrace -trimpath -buildvcs=false -ldflags "$(stamp) -extldflags=$export" -o "$output" "$@" ./cmd/pinion &&
    CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$(stamp) -s -w" -o "${output%/*}/pinion-nats" ./cmd/pinion-nats
}

## build            bin/pinion and bin/pinion-nats (the default)
cmd_build() {
  need_go
  need_cc
  steadily "compiling bin/pinion, minutes the first time" go_build bin/pinion
}

## install          pinion and pinion-nats into ~/.local/bin (PINION_INSTALL_DIR names another folder)
cmd_install() {
  local folder=${PINION_INSTALL_DIR:-${HOME:?HOME is not set: name the folder in PINION_INSTALL_DIR}/.local/bin} program
  need_go
  need_cc
  steadily "compiling pinion, minutes the first time" go_build "$cache/install/pinion"
  mkdir -p "$folder"
  for program in pinion-nats pinion; do # moved into place, so that a running server keeps its file
    { cp "$cache/install/$program" "$folder/.$program.new" && mv -f "$folder/.$program.new" "$folder/$program"; } ||
      die "cannot write to $folder: name another folder in PINION_INSTALL_DIR"
  done
  say "installed $("$folder/pinion" version | head -n 1) in $folder"
  [[ $(command -v pinion) == "$folder/pinion" ]] ||
    say "put it first on the PATH, and into ~/.profile: export PATH=\"$folder:\$PATH\""
}

## proto            httpd/oip/grpc/inferencepb: the Go code of inference.proto
cmd_proto() {
  need_go
  local python tools=$cache/proto folder=httpd/oip/grpc/inferencepb
  python=$(choose_python)
  make_venv "$python" "$tools" tests/requirements-proto.txt
  go build -o "$tools/bin/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
  GOBIN=$tools/bin go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
  PATH=$tools/bin:$PATH "$tools/bin/python" -m grpc_tools.protoc -I "$folder" \
    --go_out="$folder" --go_opt=paths=source_relative \
    --go-grpc_out="$folder" --go-grpc_opt=paths=source_relative,require_unimplemented_servers=true inference.proto
}

## stamp            the linker's flags with the version
cmd_stamp() { stamp; }

# ---- Python ----

# probe PYTHON prints "STATUS VERSION PREFIX EXECUTABLE" of an interpreter; STATUS is ok, or why it cannot be embedded.
probe() {
  env -u PYTHONHOME -u PYTHONPATH "$1" -I -S -c '
import sys, sysconfig

def loads(path):
    try:
        import ctypes
        return bool(ctypes.CDLL(path))
    except (ImportError, OSError):
        return False

name = "libpython%d.%d.so.1.0" % sys.version_info[:2]
folders = [f + "/" for f in (sysconfig.get_config_var("LIBDIR"), sys.base_prefix + "/lib") if f] + [""]
free = sysconfig.get_config_var("Py_GIL_DISABLED")
if sys.implementation.name != "cpython" or not (3, 14 if free else 10) <= sys.version_info < (3, 16):
    status = "unsupported"
elif free:
    status = "free-threaded"
else:
    status = "ok" if any(loads(f + name) for f in folders) else "no-libpython"
print(status, "%d.%d.%d" % sys.version_info[:3], sys.base_prefix, sys.executable)' 2>/dev/null </dev/null
}

# pythons [PREFERRED...] prints probe's line for each installed interpreter, one for each installation.
pythons() {
  local candidate
  for candidate in "$@" python3 python3.{15,14,13,12,11,10} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 \
    /usr/bin/python3.[0-9]* /usr/local/bin/python3.[0-9]* "$HOME"/.local/share/uv/python/*/bin/python3; do
    if [[ $candidate != *-config ]] && command -v "$candidate" >/dev/null; then
      probe "$candidate" || true # a version manager's shim may have no Python behind it
    fi
  done | awk '!seen[$2, $3]++'
}

# choose_python prints an interpreter that can be embedded, preferably the one that pinion itself would take.
choose_python() {
  local found version
  found=$(pythons "${PINION_PYTHON:-}" "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}")
  if ! grep -qE '^(ok|no-libpython) ' <<<"$found"; then
    install "Python" python3 python3-venv
    found=$(pythons)
  fi
  if ! grep -q '^ok ' <<<"$found"; then
    version=$(awk '$1 == "no-libpython" && $3 == "/usr" { sub(/\.[0-9]+$/, "", $2); print $2; exit }' <<<"$found")
    [[ -z $version ]] || install "the shared library of Python $version" "libpython$version"
    found=$(pythons)
  fi
  awk '$1 == "ok" { print $4; found = 1; exit } END { exit !found }' <<<"$found" ||
    die "no CPython from $python_versions with a shared libpython was found; there are: ${found//$'\n'/; }"
}

# make_venv PYTHON FOLDER REQUIREMENTS makes a virtual environment, unless it exists and was made from the same. uv makes it, in a
# quarter of pip's time and with the system's certificates; if uv fails, pip makes it.
make_venv() {
  local python=$1 folder=$2 requirements=$3 made_from
  made_from=$("$python" -VV && sha256sum "$requirements")
  [[ -x $folder/bin/python && $(cat "$folder/.made-from" 2>/dev/null) == "$made_from" ]] && return
  say "making $folder for $("$python" -V), as $requirements says"
  steadily "installing packages" any_venv "$@" &&
    echo "$made_from" >"$folder/.made-from"
}

any_venv() { { need_uv "$1" && uv_venv "$@"; } || pip_venv "$@"; }

# need_uv PYTHON installs the uv that the images use too. Several processes may ask at once.
need_uv() {
  local lock
  mkdir -p "$cache"
  exec {lock}>"$cache/uv.lock"
  flock "$lock"
  [[ -x $cache/uv/bin/uv ]] || { grep '^uv==' tests/requirements-images.txt >"$cache/uv.txt" && pip_venv "$1" "$cache/uv" "$cache/uv.txt"; }
  exec {lock}>&-
  [[ -x $cache/uv/bin/uv ]]
}

# uv_venv PYTHON FOLDER REQUIREMENTS makes one whose packages are links into a folder that all environments share.
uv_venv() {
  "$1" -m venv --clear --without-pip "$2" &&
    UV_CACHE_DIR=$cache/wheels UV_SYSTEM_CERTS=1 UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-https://pypi.org/simple}} \
      "$cache/uv/bin/uv" pip install --quiet --no-config --compile-bytecode --python "$2/bin/python" --requirement "$3" >&2
}

# pip_venv PYTHON FOLDER REQUIREMENTS installs pip in the environment, and with it the packages.
pip_venv() {
  local python=$1 folder=$2 requirements=$3 version
  if [[ $python == /usr/bin/* ]] && ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    install "the venv module of Python $version" "python$version-venv"
  fi
  "$python" -m venv --clear "$folder" &&
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements" >&2
}

# ---- demo ----

# free_port PYTHON prints PORT, or without it 5000 or, where that is taken, a free one.
free_port() {
  "$1" - <<'END'
import os, socket

wanted = int(os.environ.get("PORT") or 5000)
for port in (wanted, 0):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("0.0.0.0", port))
        except OSError:
            if os.environ.get("PORT"):
                raise SystemExit(f"build.sh: port {wanted} is taken; PORT=0 takes a free one")
            continue
        print(s.getsockname()[1])
        break
END
}

## demo             serves examples/ocr, reads its sample picture, and keeps serving until Ctrl-C (PORT, default 5000)
cmd_demo() {
  cmd_build
  local python port venv=examples/ocr/.venv
  python=$(choose_python)
  make_venv "$python" $venv examples/ocr/requirements.txt
  port=$(free_port $venv/bin/python)
  say "serving examples/ocr on port $port with $($venv/bin/python -V)"

  trap stop_demo EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  bin/pinion serve examples/ocr --python $venv/bin/python --host 127.0.0.1 --port "$port" &
  server=$!
  mkdir -p "$cache"
  $venv/bin/python examples/ocr/client.py --url "http://127.0.0.1:$port" --wait 120 >"$cache/demo.txt" &
  client=$!
  # Whichever ends first: if the server cannot start, the client would wait in vain.
  wait -n "$server" "$client" || die "the demo failed"
  kill -0 "$server" 2>/dev/null || die "the server ended before it answered"

  printf '\nThe text in examples/ocr/sample.png:\n\n'
  sed 's/^/    /' "$cache/demo.txt"
  say_how_to_try "$port" | tee "$cache/demo-hint.txt"
  if [[ ${PINION_DEMO_ONCE:-} == 1 ]]; then
    demo_was_right
    return
  fi
  wait "$server"
}

# say_how_to_try PORT prints the address of the demo's page and a request to try.
say_how_to_try() {
  printf '\nTry it in a browser: http://localhost:%s/docs\n\nOr from here:\n\n    %s |\n      %s\n\nCtrl-C ends it.\n\n' "$1" \
    "printf '{\"input\": {\"image\": \"data:image/png;base64,%s\"}}' \"\$(base64 -w0 examples/ocr/sample.png)\"" \
    "curl -H 'Content-Type: application/json' -d @- localhost:$1/predictions"
}

# demo_was_right ends the server. It fails unless the server read the picture's text, its page is at the printed address, and it
# ended with exit status 0.
demo_was_right() {
  local page
  diff examples/ocr/sample.txt "$cache/demo.txt" || die "this is not what the picture says"
  page=$(grep -o 'http://[^ ]*/docs' "$cache/demo-hint.txt") || die "the demo did not print its address"
  "$venv/bin/python" -c 'import sys, urllib.request as r; r.urlopen(sys.argv[1]).close()' "$page" ||
    die "the demo's page is not at $page"
  kill -TERM "$server"
  wait "$server" || die "the server did not end cleanly: exit status $?"
}

# stop_demo ends the demo's processes, however the demo ends, and waits for them.
stop_demo() {
  trap '' INT TERM HUP
  local process
  for process in ${client:-} ${server:-}; do
    kill -TERM "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
}

# ---- speed, style, cleaning ----

## bench [NAME ...] bench/NAME.sh with the arguments after it; the default is echo, Pinion beside a bare fasthttp
cmd_bench() {
  local name=echo
  if [[ -x bench/${1:-}.sh ]]; then
    name=$1
    shift
  fi
  cmd_build
  "bench/$name.sh" "$@"
}

# need_lint_tools makes the virtual environment of the tools for C and Python files.
need_lint_tools() {
  local python
  python=$(choose_python)
  make_venv "$python" "$cache/lint" tests/requirements-lint.txt
}

# ruff COMMAND... checks or formats the Python files. The SDK has its settings in its pyproject.toml.
ruff() {
  local status=0
  "$cache/lint/bin/ruff" "$@" --no-cache pyembed/sdk || status=1
  "$cache/lint/bin/ruff" "$@" --no-cache --isolated --line-length 100 --target-version py310 examples bench docs deploy || status=1
  return $status
}

readonly golangci_lint=github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
readonly actionlint=github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

gofmt_check() {
  local files
  files=$(gofmt -l .)
  [[ -z $files ]] || { echo "gofmt would change: $files" && return 1; }
}

# clang_format FLAG... formats the C files; with --dry-run it prints what would change.
clang_format() { git ls-files -z --cached --others --exclude-standard '*.c' '*.h' | xargs -0 "$cache/lint/bin/clang-format" -Werror "$@"; }

## lint             golangci-lint, go generate, clang-format, shellcheck, actionlint, ruff, mypy
cmd_lint() {
  need_go
  need_cc
  command -v shellcheck >/dev/null || install shellcheck shellcheck
  need_lint_tools
  local failed=0
  go run "$golangci_lint" run ./... || failed=1
  go vet -tags pinion_test github.com/go-python/cpy3/... || failed=1
  { go generate ./ipc && git diff --exit-code -- ipc/kindnames.go pyembed/channel_kind.h pyembed/sdk/cog/_worker/serve/wire.py; } || failed=1
  clang_format --dry-run || failed=1
  git ls-files -z --cached --others --exclude-standard '*.sh' .ci/run | xargs -0 shellcheck -x || failed=1
  go run "$actionlint" || failed=1
  # B008, no calls in defaults: that is how cog.Input works.
  ruff check --extend-ignore B008 || failed=1
  ruff format --check || failed=1
  (cd pyembed/sdk && "$cache/lint/bin/mypy" --cache-dir "$cache/mypy") || failed=1
  (cmd_site "$cache/site/pages") || failed=1
  [[ $failed == 0 ]] || die "there is something to fix"
}

## fmt              formats Go, C and Python files
cmd_fmt() {
  need_go
  need_lint_tools
  go run "$golangci_lint" fmt ./...
  clang_format -i
  ruff format
}

## clean            removes everything that this script made
cmd_clean() {
  rm -rf bin dist .cache examples/*/.venv
  find . -name __pycache__ -type d -prune -exec rm -rf {} +
}

# shellcheck source=deploy/release.sh
source deploy/release.sh
# shellcheck source=tests/pythons.sh
source tests/pythons.sh
# shellcheck source=tests/tools.sh
source tests/tools.sh
# shellcheck source=tests/suites.sh
source tests/suites.sh
# shellcheck source=tests/sanitizers.sh
source tests/sanitizers.sh
# shellcheck source=tests/images.sh
source tests/images.sh
# shellcheck source=tests/release.sh
source tests/release.sh
# shellcheck source=tests/cluster.sh
source tests/cluster.sh

main() {
  local command=${1:-build}
  shift || true
  [[ $command != -h && $command != --help ]] || command=help
  declare -F "cmd_$command" >/dev/null || { cmd_help >&2 && die "there is no command '$command'"; }
  "cmd_$command" "$@"
}

main "$@"
