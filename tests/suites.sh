# shellcheck shell=bash
# The commands of build.sh that run tests, which sources this file.
#
# A run is a row of suites. Each leaves files in .cache/results, whose meaning tests/cmd/report explains, and the run
# goes on after a failure; the last line, "N passed, N failed[, N skipped]", is counted from those files.

# shellcheck disable=SC2154 # build.sh sets cache
readonly results=$cache/results
readonly tags=grpcnotrace,pinion_test # those of the command, and pyembed's helpers in C, because test files cannot use cgo
readonly without_c='^pinion/(deploy|httpd|ipc|runtime)/?' # packages that are for builds without C too
readonly go_packages="$without_c|^pinion/cmd/"
readonly subjects=(./tests/{workers,api,cli,queue,protocols,telemetry,docs}) # the binary from outside; the longest first

# suite NAME COMMAND... runs a part of the tests and prints its outcome. The command's output is the suite's log; files
# that the command writes to $results/NAME.json or .xml count test by test.
suite() {
  local name=$1 status=0 began=$SECONDS
  shift
  say "$name ..."
  ("$@") >"$results/$name.log" 2>&1 </dev/null || status=$?
  echo "$status $((SECONDS - began))" >"$results/$name.rc"
  "$cache/report" "$results" "$name" || true # the last line of the run says
}

# go_suite NAME [VARIABLE=VALUE...] ARGUMENT... is a suite of `go test` with the arguments. Four packages run at once, for
# their tests wait more than they compute. An hour is for the simulations under the race detector on a busy machine.
go_suite() {
  local name=$1 settings=()
  shift
  while [[ $1 == [A-Z]*=* ]]; do
    settings+=("$1")
    shift
  done
  suite "$name" go_events "$results/$name" env "${settings[@]}" go test -json -p 4 -timeout 60m -tags "$tags" "$@"
}

# go_events FILE COMMAND... writes what the command prints to FILE.json, and leaves its complaints in the log. Tests that
# fail are run once more, into FILE.again. The report names those that pass then as flakes.
go_events() {
  local file=$1 failed status=0
  shift
  "$@" >"$file.json" || status=$?
  failed=$(grep '"Action":"fail"' "$file.json" | grep -o '"Test":"[^"/]*' | cut -d'"' -f4 | sort -u | paste -sd'|')
  [[ -z $failed ]] || "$@" -run "^($failed)\$" >"$file.again" || true
  return "$status"
}

# packages PATTERN fills the array list with the packages whose path matches.
packages() { mapfile -t list < <(go list -tags "$tags" ./... | grep -E "$1"); }

# full reports whether this run has every test with every interpreter. With PINION_TEST_FULL=1 it has every test (harness.Full).
full() { [[ ${PINION_TEST_FULL:-} == all ]]; }

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
  export GOFLAGS="${GOFLAGS:-} -trimpath" # as the command is compiled, so that each package is compiled once
  need_go
  need_cc
}

# start_tests prepares the tools, an empty folder for the results, and the Pythons.
start_tests() {
  start_results
  start_pythons
}

start_results() {
  need_test_tools
  rm -rf "$results"
  mkdir -p "$results"
  go build -o "$cache/report" ./tests/cmd/report
}

start_pythons() {
  ! full || suite 05-compiled-pythons make_compiled_pythons
  choose_python >/dev/null # installs one where there is none
  make_test_pythons
}

declare -A lanes # the processes of those that run, by name

# lane NAME COMMAND... runs a row of suites beside what follows, in its own process group.
lane() {
  trap end_lanes EXIT
  set -m
  ("${@:2}") </dev/null &
  set +m
  lanes[$1]=$!
}

# end_lanes ends the lanes of a run that ends early.
end_lanes() {
  local process
  for process in "${lanes[@]}"; do kill -TERM -- "-$process" 2>/dev/null || true; done
}

# await_lane NAME waits for its end. One that ends early has failed.
await_lane() {
  wait "${lanes[$1]}" || echo "$? 0" >"$results/$1.rc"
  unset "lanes[$1]"
}

# end_tests prints what failed and the summary line; its status is that of the whole run.
end_tests() { "$cache/report" "$results"; }

# python_suites NAME [FLAG...] tests what embeds Python, once for each interpreter.
python_suites() {
  local name=$1 venv
  shift
  for venv in "${venvs[@]}"; do
    go_suite "$name-${venv##*/}" PINION_TEST_PYTHON="$venv/bin/python" \
      -vet=off "$@" ./pyembed/... github.com/go-python/cpy3/...
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

# instructions_suite counts the instructions of a request in a worker, as tests/instructions/doc.go says, and what the front allocates
# for one and every process at its start (cmd/pinion/footprint_test.go). Where valgrind cannot be had the test says so and is skipped.
instructions_suite() {
  local valgrind='' counted=() venv
  for venv in "${venvs[@]}" "${smoke_venvs[@]}"; do [[ $venv == *t-smoke ]] || counted+=("$venv"); done # builds with a GIL
  full || [[ ${#counted[@]} == 1 ]] || counted=("${counted[0]}" "${counted[-1]}")
  has_valgrind || (install valgrind valgrind) || true
  if has_valgrind; then valgrind=valgrind; fi
  go_suite 45-instructions PINION_BIN="$PWD/bin/pinion" \
    PINION_TEST_PYTHONS="$(joined "${counted[@]}")" \
    PINION_TEST_VALGRIND="$valgrind" -count=1 -timeout 30m ./tests/instructions
  go_suite 46-footprint PINION_BIN="$PWD/bin/pinion" PINION_TEST_PYTHONS="${counted[0]}" -count=1 -run TestFootprint ./cmd/pinion
}

# whole_suite NAME BINARY [FLAG...] tests the binary from outside, never from go's cache: that does not know of the
# binary and of the models that these tests start.
whole_suite() {
  local name=$1 binary=$2
  shift 2
  local free
  free=$(printf '%s\n' "${smoke_venvs[@]}" | grep 't-smoke$' || true)
  # shellcheck disable=SC2086 # one folder a word
  PINION_TEST_FREE_THREADED=$(joined $free)
  export PINION_TEST_FREE_THREADED
  go_suite "$name" PINION_BIN="$PWD/$binary" PINION_TEST_PYTHONS="$(joined "${venvs[@]}")" \
    PINION_TEST_SMOKE_PYTHONS="$(joined "${smoke_venvs[@]}")" -vet=off -count=1 -p 3 -timeout 90m "$@" "${subjects[@]}" ./tests/...
}

# begin_newest_root begins to make the root file system of newest_suites, which fail if it cannot be made.
begin_newest_root() { ! can_make_newest_root || make_newest_root >"$cache/newest-root.log" 2>&1 || true; }

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
  need_test_tools
  make_test_pythons
  make_pydantic1
  python_suites 30-pyembed
  sdk_suites
  go_suite 55-whole-newest PINION_BIN="$PWD/bin/pinion" PINION_TEST_PYTHONS="$(joined "${venvs[@]}")" \
    PINION_TEST_SMOKE_PYTHONS="$(joined "${smoke_venvs[@]}")" PINION_TEST_EACH_PYTHON_ONLY=1 \
    -vet=off -count=1 -p 2 -parallel 2 -timeout 20m "${subjects[@]}"
}

## test             the tests: all with the oldest and the newest Python, and a model of each kind with the others; the last line
##                  counts them
cmd_test() {
  start_results
  lane 10-build suite 10-build cmd_build
  lane 06-newest-root begin_newest_root
  start_pythons
  lane 05-tools make_tools
  await_lane 10-build
  lane 30-pythons python_lane
  lane 50-newest newest_suites
  suite 11-gofmt gofmt_check
  suite 12-vet go vet -tags "$tags" ./... github.com/go-python/cpy3/...
  packages "$go_packages"
  go_suite 20-go -vet=off "${list[@]}"
  packages "$without_c"
  ! full || go_suite 21-without-c CGO_ENABLED=0 -vet=off "${list[@]}"
  instructions_suite
  await_lane 05-tools
  whole_suite 50-whole bin/pinion -parallel 3 # of each of three packages: most of them wait, and more only wait for each other
  ! full || images_suite
  suite 60-demo env PINION_DEMO_ONCE=1 ./build.sh demo
  await_lane 30-pythons
  await_lane 06-newest-root
  await_lane 50-newest
  end_tests
}

# python_lane tests what embeds Python, in each that gets every test.
python_lane() {
  python_suites 30-pyembed
  sdk_suites
}

## test-full        the same with every Python that is installed and with 3.14 and 3.15 compiled from source, and what takes
##                  longer: chaos, soak, the page in a browser, Schemathesis, generated clients, a clean clone's build, a
##                  Python without a GIL, runtime built without C
cmd_test-full() {
  export PINION_TEST_FULL=all
  cmd_test
}

## newest           the tests of each Python with Debian's newest ones, in a separate root file system
cmd_newest() {
  export PINION_TEST_FULL=all
  start_tests
  suite 10-build cmd_build
  newest_suites
  end_tests
}

## instructions     the instructions a request costs in the worker, and the allocations of a request in the front and of each
##                  start, against those recorded (PINION_RECORD=1 records)
cmd_instructions() {
  export PINION_TEST_FULL=all
  start_tests
  suite 10-build cmd_build
  instructions_suite
  end_tests
}

## test-gpu         the tests that need an NVIDIA GPU and a Python whose torch uses it (PINION_TEST_GPU_PYTHON; default: python3)
cmd_test-gpu() {
  start_results
  suite 10-build cmd_build
  go_suite 20-gpu PINION_BIN="$PWD/bin/pinion" PINION_TEST_PYTHONS="${PINION_TEST_GPU_PYTHON:-$(command -v python3)}" -vet=off \
    -count=1 ./tests/gpu
  end_tests
}

## race             the Go tests under the race detector, and those of the whole with a binary built for it
cmd_race() {
  export PINION_TEST_FULL=1
  start_tests
  make_models
  suite 10-build go_build bin/pinion-race -race
  packages "$go_packages"
  go_suite 20-go -race "${list[@]}"
  python_suites 30-pyembed -race
  whole_suite 50-whole bin/pinion-race -race
  end_tests
}

## fuzz [SECONDS]   each fuzz target, 60 s by default
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

# fuzz_one FOLDER TARGET SECONDS runs a fuzz target. `go test -fuzz` succeeds even if no target matches, so its output is checked.
fuzz_one() {
  local status=0 log
  log=$(PINION_TEST_PYTHON=${venvs[0]}/bin/python go test -C "$1" -tags "$tags" -run '^$' -fuzz "^$2\$" \
    -fuzztime "$3s" -parallel 2 . 2>&1) || status=$?
  echo "$log"
  [[ $status == 0 ]] && grep -q '^fuzz: elapsed' <<<"$log"
}

## soak             the tests of the whole at full length: cancel storms, 10 500 faults, memory over many predictions
cmd_soak() {
  export PINION_TEST_FULL=1 PINION_SOAK=1
  start_tests
  suite 10-build cmd_build
  make_models
  whole_suite 80-soak bin/pinion -timeout 120m
  end_tests
}

## fleet [JOBS]     servers of one job queue and its NATS are killed and frozen while jobs are accepted, 10 000 by default;
##                  PINION_CHAOS_SEED chooses the faults
cmd_fleet() {
  export PINION_TEST_FULL=1 PINION_CHAOS_JOBS=${1:-10000}
  start_tests
  suite 10-build cmd_build
  whole_suite 80-fleet bin/pinion -run '^TestFleet_LosesNoJob$' -v
  end_tests
}
