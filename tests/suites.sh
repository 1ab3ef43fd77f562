# shellcheck shell=bash
# The commands of build.sh that run tests, which sources this file.
#
# A run is a row of suites. Each leaves files in .cache/results, whose meaning tests/cmd/report explains, and the run
# goes on after a failure; the last line, "N passed, N failed[, N skipped]", is counted from those files.

# shellcheck disable=SC2154 # build.sh sets cache
readonly results=$cache/results
readonly tags=pinion_test # turns on the test helpers of pyembed in C, for test files may not use cgo
readonly without_c='^pinion/(httpd|ipc|runtime)/?'

# suite NAME COMMAND... runs a part of the tests and says how it went. What it prints becomes the suite's log; files
# that the command writes to $results/NAME.json or .xml count test by test.
suite() {
  local name=$1 status=0 began=$SECONDS
  shift
  say "$name ..."
  ("$@") >"$results/$name.log" 2>&1 </dev/null || status=$?
  echo "$status $((SECONDS - began))" >"$results/$name.rc"
  "$cache/report" "$results" "$name" || true # the last line of the run will tell
}

# go_suite NAME [VARIABLE=VALUE...] ARGUMENT... is a suite of `go test` with the arguments.
go_suite() {
  local name=$1 settings=()
  shift
  while [[ $1 == [A-Z]*=* ]]; do
    settings+=("$1")
    shift
  done
  suite "$name" go_events "$results/$name.json" env "${settings[@]}" go test -json -p 2 "$@"
}

# go_events FILE COMMAND... writes what the command prints to FILE, and leaves its complaints in the log. Tests that fail
# are run once more, by themselves: on a busy machine a bound can be missed that is not what the test is about. What
# fails twice has failed; what passes then is named in the log.
go_events() {
  local file=$1 failed status=0
  shift
  "$@" >"$file" || status=$?
  [[ $status != 0 ]] || return 0
  failed=$(grep '"Action":"fail"' "$file" | grep -o '"Test":"[^"/]*' | cut -d'"' -f4 | sort -u | paste -sd'|')
  [[ -n $failed ]] || return "$status"
  echo "once more: $failed" >&2
  "$@" -run "^($failed)\$" >"$file.again" || return "$status"
  { grep -vE "\"Test\":\"($failed)[\"/]" "$file" | grep -v '"Action":"fail"'; cat "$file.again"; } >"$file.both"
  mv "$file.both" "$file"
}

# packages PATTERN fills the array list with the packages whose path matches.
packages() { mapfile -t list < <(go list -tags "$tags" ./... | grep -E "$1"); }

# make_test_pythons fills two arrays with virtual environments of the interpreters that can be embedded: venvs, of those
# that every test is run with, and smoke_venvs, of the others, which serve one model of each kind (tests/smoke_test.go).
# The first are the oldest and, where no root file system has newer ones (newest_suites), the newest.
make_test_pythons() {
  local status version executable found=()
  venvs=() smoke_venvs=()
  while read -r status version _ executable; do
    if [[ $status != ok ]]; then
      [[ $status == unsupported ]] || say "left out: $executable, Python $version ($status)"
    elif (make_venv "$executable" "$cache/venvs/$version" tests/requirements.txt); then
      found+=("$cache/venvs/$version")
    else
      say "left out: $executable, Python $version (no virtual environment could be made)"
    fi
  done < <(pythons | sort -k 2,2V)
  [[ ${#found[@]} -gt 0 ]] || die "there is no Python to test with: CPython $python_versions with a shared libpython"
  venvs=("${found[0]}") smoke_venvs=("${found[@]:1}")
  if [[ ${#found[@]} -gt 1 ]] && ! can_make_newest_root; then
    venvs+=("${found[-1]}")
    smoke_venvs=("${found[@]:1:${#found[@]}-2}")
  fi
  # Beside each lies one with pydantic 1, where the tests of the corpus look for it.
  for executable in "${venvs[@]}"; do
    make_venv "$executable/bin/python" "$executable-pydantic1" tests/requirements-pydantic1.txt
  done
}

# joined PREFIX... prints what the tests read as a list of interpreters.
joined() {
  local list
  list=$(printf ':%s/bin/python' "$@")
  [[ $# == 0 ]] || echo "${list#:}"
}

# need_test_tools finds what every test needs.
need_test_tools() {
  # These would hide faults of buffering and caches, or point at another Python than the tests mean.
  unset PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONHOME VIRTUAL_ENV PINION_PYTHON PORT
  need_go
  need_cc
}

# start_tests prepares a run: the tools, the Pythons, an empty folder for the results.
start_tests() {
  need_test_tools
  choose_python >/dev/null # installs one where there is none
  make_test_pythons
  make_venv "$(choose_python)" "$cache/venvs/models" tests/requirements-models.txt
  rm -rf "$results"
  mkdir -p "$results"
  go build -o "$cache/report" ./tests/cmd/report
}

# end_tests prints what failed and the summary line; its status is that of the whole run.
end_tests() { "$cache/report" "$results"; }

# python_suites NAME [FLAG...] tests what embeds Python, once for each interpreter.
python_suites() {
  local name=$1 venv
  shift
  for venv in "${venvs[@]}"; do
    go_suite "$name-${venv##*/}" PINION_TEST_PYTHON="$venv/bin/python" \
      -tags "$tags" "$@" ./pyembed/... github.com/go-python/cpy3/...
  done
}

# sdk_suites runs the Python package's own tests, once for each interpreter.
sdk_suites() {
  local venv name
  for venv in "${venvs[@]}"; do
    name=40-sdk-${venv##*/}
    suite "$name" env PYTHONPATH=pyembed/sdk "$venv/bin/python" -m pytest -q -p no:cacheprovider \
      --junitxml="$results/$name.xml" pyembed/sdk/tests
  done
}

# make_schemathesis makes the environment of the tests that use it.
make_schemathesis() {
  make_venv "$(choose_python)" "$cache/venvs/schemathesis" tests/requirements-schemathesis.txt
  export PINION_TEST_SCHEMATHESIS=$cache/venvs/schemathesis/bin/python
}

# make_clients makes what the tests of generated clients need. They are skipped where the generators cannot be had.
make_clients() {
  local folder=$cache/clients made_from
  if (make_venv "$(choose_python)" "$cache/venvs/clients" tests/requirements-clients.txt); then
    export PINION_TEST_CLIENTS=$cache/venvs/clients/bin/python
  fi
  command -v npm >/dev/null || return 0
  made_from=$(sha256sum tests/clients/package-lock.json)
  if [[ $(cat "$folder/.made-from" 2>/dev/null) != "$made_from" ]]; then
    mkdir -p "$folder"
    cp tests/clients/package.json tests/clients/package-lock.json "$folder"
    quietly npm ci --prefix "$folder" --no-audit --no-fund --ignore-scripts || return 0
    echo "$made_from" >"$folder/.made-from"
  fi
  export PINION_TEST_CLIENTS_NPM=$folder
}

# has_valgrind tells whether valgrind is there, and the header by which it is told what to count.
has_valgrind() { command -v valgrind >/dev/null && [[ -f /usr/include/valgrind/callgrind.h ]]; }

# instructions_suite counts the instructions of a request, as tests/instructions/doc.go says. By itself: each of its
# processes wants a processor. Where valgrind cannot be had the test says so and is skipped.
instructions_suite() {
  local valgrind=''
  has_valgrind || (install valgrind valgrind) || true
  if has_valgrind; then valgrind=valgrind; fi
  go_suite 45-instructions PINION_BIN="$PWD/bin/pinion" \
    PINION_TEST_PYTHONS="$(joined "${venvs[@]}" "${smoke_venvs[@]}")" \
    PINION_TEST_VALGRIND="$valgrind" -count=1 -timeout 30m ./tests/instructions
}

# make_browser makes the environment of the tests that look at the page at /docs. They are skipped where there is no Chromium
# and none can be installed, and where there is no playwright for the system.
make_browser() {
  local candidate chromium=
  for candidate in chromium-headless-shell chromium chromium-browser google-chrome-stable google-chrome; do
    chromium=$(command -v "$candidate") && break
  done
  if [[ -z $chromium ]] && (install "a browser" chromium-headless-shell); then
    chromium=$(command -v chromium-headless-shell || true)
  fi
  [[ -n $chromium ]] || return 0
  if (make_venv "$(choose_python)" "$cache/venvs/playwright" tests/requirements-browser.txt); then
    export PINION_TEST_CHROMIUM=$chromium PINION_TEST_PLAYWRIGHT=$cache/venvs/playwright/bin/python
  fi
}

# make_nginx names nginx to the test of the proxy's configuration. Debian's package is unpacked, not installed: installing it
# would start a server on port 80. The test is skipped where there is none.
make_nginx() {
  local nginx
  nginx=$(command -v nginx || echo "$cache/nginx/usr/sbin/nginx")
  if [[ ! -x $nginx ]] && command -v apt-get >/dev/null; then
    say "nginx is missing: unpacking Debian's into $cache/nginx"
    mkdir -p "$cache/nginx"
    (cd "$cache/nginx" && quietly apt-get download nginx && dpkg -x nginx_*.deb .) || true
  fi
  if "$nginx" -v >/dev/null 2>&1; then export PINION_TEST_NGINX=$nginx; fi
}

# whole_suite NAME BINARY [FLAG...] tests the binary from outside, never from go's cache: that does not know of the
# binary and of the models that these tests start.
whole_suite() {
  local name=$1 binary=$2
  shift 2
  go_suite "$name" PINION_BIN="$PWD/$binary" PINION_TEST_PYTHONS="$(joined "${venvs[@]}")" \
    PINION_TEST_SMOKE_PYTHONS="$(joined "${smoke_venvs[@]}")" \
    PINION_TEST_MODELS_PYTHON="$cache/venvs/models/bin/python" -count=1 -timeout 20m "$@" ./tests/...
}

# newest_suites runs what tests each Python with the newest ones, in their root file system. Without root they are left
# out. What is found inside is counted with the rest, for the results lie in this folder.
newest_suites() {
  if ! can_make_newest_root; then
    say "left out: Python ${newest_pythons// / and }, whose root file system only root can make"
    return
  fi
  suite 50-newest-root make_newest_root
  [[ -d $newest_root ]] || return 0
  in_newest_root ./build.sh inside_newest_root || echo "$? 0" >"$results/51-newest.rc"
}

# cmd_inside_newest_root is for newest_suites.
cmd_inside_newest_root() {
  pythons() { # none of those that the home folder has
    local version
    for version in $newest_pythons; do probe "/usr/bin/python$version"; done
  }
  need_test_tools
  make_test_pythons
  python_suites 30-pyembed
  sdk_suites
  go_suite 55-whole-newest PINION_BIN="$PWD/bin/pinion" PINION_TEST_PYTHONS="$(joined "${venvs[@]}")" \
    PINION_TEST_EACH_PYTHON_ONLY=1 -count=1 -timeout 20m ./tests
}

# make_free_threaded makes the interpreter that tests/start_test.go wants refused.
make_free_threaded() {
  suite 15-free-threaded make_free_threaded_python
  export PINION_TEST_FREE_THREADED=$free_threaded_python/bin/python3
}

## test             every test, in the oldest Python that is installed and in Debian's newest, a smoke test in the others;
##                  the last line counts them
cmd_test() {
  start_tests
  suite 10-build cmd_build
  suite 11-gofmt gofmt_check
  suite 12-vet go vet -tags "$tags" ./... github.com/go-python/cpy3/...
  packages "$without_c"
  go_suite 20-without-c CGO_ENABLED=0 "${list[@]}"
  packages "$without_c|^pinion/cmd/"
  go_suite 21-with-c "${list[@]}"
  python_suites 30-pyembed
  sdk_suites
  instructions_suite
  make_schemathesis
  make_browser
  make_clients
  make_nginx
  make_free_threaded
  whole_suite 50-whole bin/pinion
  newest_suites
  suite 60-demo env PINION_DEMO_ONCE=1 ./build.sh demo
  end_tests
}

## newest           the tests of each Python with Debian's newest ones, in a root file system of their own
cmd_newest() {
  start_tests
  suite 10-build cmd_build
  newest_suites
  end_tests
}

## instructions     the instructions a request costs in the worker, against those recorded (PINION_RECORD=1 records)
cmd_instructions() {
  start_tests
  suite 10-build cmd_build
  instructions_suite
  end_tests
}

## race             the Go tests under the race detector, and those of the whole with a binary built for it
cmd_race() {
  start_tests
  suite 10-build go_build bin/pinion-race -race
  packages "$without_c|^pinion/cmd/"
  go_suite 21-with-c -race "${list[@]}"
  python_suites 30-pyembed -race
  whole_suite 50-whole bin/pinion-race -race
  end_tests
}

## asan             the C code, and the whole with it, under AddressSanitizer and UndefinedBehaviorSanitizer
cmd_asan() {
  start_tests
  # One after the other: with both of gcc's runtimes in a process, neither minds log_path for what UBSan finds.
  export ASAN_OPTIONS UBSAN_OPTIONS PYTHONMALLOC CGO_CFLAGS CGO_LDFLAGS
  # Python keeps memory until its end, and asks for too much of it on purpose. The fatal signals are left to
  # faulthandler, as without a sanitizer.
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path=$results/finding-asan
  ASAN_OPTIONS+=:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0
  PYTHONMALLOC=malloc # Python's own allocator would hide overruns
  CGO_CFLAGS="-g -O1 -fno-omit-frame-pointer"
  sanitized_suites asan -asan

  UBSAN_OPTIONS=print_stacktrace=1:log_path=$results/finding-ubsan
  CGO_CFLAGS+=" -fsanitize=undefined -fno-sanitize-recover=undefined"
  CGO_LDFLAGS=-fsanitize=undefined
  sanitized_suites ubsan
  # A worker that a finding ended may pass for one that the test ended, so the findings themselves are looked for.
  suite 60-no-findings no_findings
  end_tests
}

# sanitized_suites NAME [FLAG...] tests what is C, and bin/pinion-NAME.
sanitized_suites() {
  local name=$1
  shift
  suite "10-build-$name" go_build "bin/pinion-$name" "$@"
  python_suites "30-pyembed-$name" "$@"
  whole_suite "50-whole-$name" "bin/pinion-$name"
}

# no_findings fails where a sanitizer wrote of an error. Warnings, such as of a refused allocation, are no findings.
no_findings() {
  local findings
  findings=$(grep -lE 'ERROR: |runtime error: ' "$results"/finding-* 2>/dev/null) || return 0
  xargs cat <<<"$findings"
  return 1
}

## fuzz [SECONDS]   each fuzz target, 60 s unless told otherwise
cmd_fuzz() {
  start_tests
  local seconds=${1:-60} file target targets name
  targets=$(grep -RHoE --include='*_test.go' --exclude-dir='.*' '^func Fuzz[A-Za-z0-9_]*' -- * || true)
  [[ -n $targets ]] || die "there is no fuzz target"
  while IFS=: read -r file target; do
    target=${target#func }
    name=70-$(dirname "$file")-$target
    suite "${name//\//-}" fuzz_one "$(dirname "$file")" "$target" "$seconds"
  done <<<"$targets"
  end_tests
}

# fuzz_one FOLDER TARGET SECONDS. Where nothing matches, `go test -fuzz` succeeds too; so a sign of work is asked for.
fuzz_one() {
  local status=0 log
  log=$(PINION_TEST_PYTHON=${venvs[0]}/bin/python go test -C "$1" -tags "$tags" -run '^$' -fuzz "^$2\$" \
    -fuzztime "$3s" -parallel 2 . 2>&1) || status=$?
  echo "$log"
  [[ $status == 0 ]] && grep -q '^fuzz: elapsed' <<<"$log"
}

## soak             the tests of the whole at full length: cancel storms, 10 500 faults, memory over many predictions
cmd_soak() {
  start_tests
  suite 10-build cmd_build
  export PINION_SOAK=1
  whole_suite 80-soak bin/pinion -timeout 120m
  end_tests
}
