# shellcheck shell=bash
# The commands of build.sh that run tests, which sources this file.
#
# A run is a row of suites. Each leaves files in .cache/results, whose meaning tests/cmd/report explains, and the run
# goes on after a failure; the last line, "N passed, N failed[, N skipped]", is counted from those files.

# shellcheck disable=SC2154 # build.sh sets cache
readonly results=$cache/results
readonly tags=grpcnotrace,pinion_test # as the command has them; and the helpers of pyembed in C, for test files may not use cgo
readonly without_c='^pinion/(deploy|httpd|ipc|runtime)/?' # packages that are for builds without C too
readonly go_packages="$without_c|^pinion/cmd/"
readonly subjects=(./tests/{workers,api,cli,queue,protocols,telemetry,docs}) # the binary from outside; the longest first

# suite NAME COMMAND... runs a part of the tests and says how it went. What it prints becomes the suite's log; files
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
# their tests wait more than they compute.
go_suite() {
  local name=$1 settings=()
  shift
  while [[ $1 == [A-Z]*=* ]]; do
    settings+=("$1")
    shift
  done
  suite "$name" go_events "$results/$name" env "${settings[@]}" go test -json -p 4 -tags "$tags" "$@"
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

# make_test_pythons makes virtual environments of the interpreters that can be embedded, and fills two arrays: venvs are
# those that every test runs with, smoke_venvs serve one model of each kind (tests/workers/smoke_test.go).
make_test_pythons() {
  local status version executable name requirements minor='' i found=() free=() folders=() processes=()
  while read -r status version _ executable; do
    case $status in
      ok) found+=("$version $executable") ;;
      free-threaded) free+=("$version $executable") ;;
      unsupported) ;;
      *) say "left out: $executable, Python $version ($status)" ;;
    esac
  done < <(test_pythons | sort -k 2,2V)
  [[ ${#found[@]} -gt 0 ]] || die "there is no Python to test with: CPython $python_versions with a shared libpython"
  for i in "${!found[@]}"; do
    read -r version executable <<<"${found[i]}"
    name=$version requirements=tests/requirements.txt
    [[ $executable != "$kept"/* ]] || name+=-compiled # Debian's package may have the same version
    if ! every_test "$i" "${#found[@]}"; then
      [[ ${version%.*} != "$minor" ]] || continue
      name+=-smoke requirements=tests/requirements-smoke.txt
    fi
    minor=${version%.*}
    make_venv "$executable" "$cache/venvs/$name" "$requirements" &
    processes+=($!) folders+=("$cache/venvs/$name")
  done
  for i in "${!free[@]}"; do # builds without a GIL, which only a full run compiles
    read -r version executable <<<"${free[i]}"
    name=${version}t-smoke
    make_venv "$executable" "$cache/venvs/$name" tests/requirements-smoke.txt &
    processes+=($!) folders+=("$cache/venvs/$name")
  done
  venvs=() smoke_venvs=()
  for i in "${!folders[@]}"; do
    if ! wait "${processes[i]}"; then
      say "left out: ${folders[i]} could not be made"
    elif [[ ${folders[i]} == *-smoke ]]; then
      smoke_venvs+=("${folders[i]}")
    else
      venvs+=("${folders[i]}")
    fi
  done
  [[ ${#venvs[@]} -gt 0 ]] || die "no virtual environment could be made"
}

# test_pythons prints what probe says of each interpreter to test with. The compiled ones are for full runs.
test_pythons() {
  local name
  pythons
  full || return 0
  for name in $compiled_pythons; do probe "$kept/python$name/bin/python3" || true; done
}

# every_test INDEX COUNT reports whether every test runs with this interpreter, one of COUNT from the oldest to the newest.
# A short run takes the oldest and the newest. The newest is in the root file system of newest_suites, where that can be.
every_test() {
  full && return
  if [[ -e /.pinion-newest-root ]]; then
    [[ $1 == $(($2 - 1)) ]]
  else
    [[ $1 == 0 ]] || { [[ $1 == $(($2 - 1)) ]] && ! can_make_newest_root; }
  fi
}

# make_models makes the environments for models that need more packages.
make_models() {
  suite 05-models make_venv "$(choose_python)" "$cache/venvs/models" tests/requirements-models.txt
  make_pydantic1
}

# make_pydantic1 makes one with pydantic 1 beside each of venvs.
make_pydantic1() {
  local venv
  for venv in "${venvs[@]}"; do make_venv "$venv/bin/python" "$venv-pydantic1" tests/requirements-pydantic1.txt; done
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
  export GOFLAGS="${GOFLAGS:-} -trimpath" # as the command is compiled, so that each package is compiled once
  need_go
  need_cc
}

# start_tests prepares a run: the tools, an empty folder for the results, and the Pythons.
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

# make_tools makes what some tests of the whole need beside an interpreter. Tests whose tool cannot be had are skipped.
make_tools() {
  local python
  python=$(choose_python)
  make_models
  make_venv "$python" examples/ocr/.venv examples/ocr/requirements.txt || true # for the demo
  make_venv "$python" "$cache/venvs/telemetry" tests/requirements-telemetry.txt || true
  make_venv "$python" "$cache/venvs/libraries" tests/requirements-libraries.txt || true
  make_venv "$python" "$cache/venvs/protocols" tests/requirements-protocols.txt || true
  unpack nginx usr/sbin/nginx || true
  unpack haproxy usr/sbin/haproxy || true
  unpack prometheus usr/bin/promtool || true
  make_image_tools || true
  make_venv "${venvs[0]}/bin/python" "$cache/venvs/ventu" examples/ventu/requirements.txt || true # wants an old Python
  full || return 0
  make_collector || true
  make_kubernetes || true
  make_venv "$python" "$cache/venvs/clients" tests/requirements-clients.txt || true
  make_npm clients || true
  make_npm browser || true
  make_venv "$python" "$cache/venvs/libraries-full" tests/requirements-libraries-full.txt || true
  make_venv "$python" "$cache/venvs/sklearn" cmd/pinion/internal/cli/starter/sklearn/requirements.txt || true
  make_venv "$python" "$cache/venvs/cog" tests/requirements-cog.txt || true
  make_venv "$python" "$cache/venvs/protocols-full" tests/requirements-protocols-full.txt || true
  make_venv "$python" "$cache/venvs/schemathesis" tests/requirements-schemathesis.txt || true
  make_oip_document "$python" || true
  make_venv "${venvs[0]}/bin/python" "$cache/venvs/triton" tests/requirements-triton.txt || true # wants an old Python
  make_venv "$python" "$cache/venvs/playwright" tests/requirements-browser.txt || true
  make_chromium || true
  make_torch || true
  suite 15-image-base make_image_base
}

# make_npm installs the packages of a folder of tests/.
make_npm() {
  local name=$1 folder=$cache/$1 made_from
  command -v npm >/dev/null || return 0
  made_from=$(sha256sum "tests/$name/package-lock.json")
  [[ $(cat "$folder/.made-from" 2>/dev/null) != "$made_from" ]] || return 0
  mkdir -p "$folder"
  cp "tests/$name/package.json" "tests/$name/package-lock.json" "$folder"
  quietly npm ci --prefix "$folder" --no-audit --no-fund --ignore-scripts && echo "$made_from" >"$folder/.made-from"
}

# make_chromium installs a browser for the tests of the server's pages.
make_chromium() {
  local candidate
  for candidate in chromium-headless-shell chromium chromium-browser google-chrome-stable google-chrome; do
    command -v "$candidate" && return
  done
  (install "a browser" chromium-headless-shell)
}

# unpack PACKAGE FILE unpacks a Debian package into the cache, where the system does not have its program: installing it would
# start a server. The libraries that the program needs are installed.
unpack() {
  local package=$1 program=$cache/$1/$2 libraries
  if command -v "${2##*/}" || [[ -x /$2 ]]; then return; fi
  if [[ ! -x $program ]]; then
    say "${2##*/} is missing: unpacking Debian's package $package into $cache/$package"
    mkdir -p "$cache/$package"
    (cd "$cache/$package" && { quietly apt-get download "$package" || { quietly apt-get update && quietly apt-get download "$package"; }; } &&
      dpkg -x "$package"_*.deb .) || return
  fi
  ldd "$program" 2>/dev/null | grep -q 'not found' || return 0
  mapfile -t libraries < <(apt-cache depends "$package" | sed -n 's/^ *Depends: \(lib[^ ]*\)$/\1/p' |
    while read -r library; do dpkg -s "$library" >/dev/null 2>&1 || echo "$library"; done)
  (install "a library of $package" "${libraries[@]}")
}

# make_torch unpacks Debian's PyTorch for the system's Python, with all that it needs and the system lacks: 150 MB to download,
# 620 MB. It is for the CPU; that of PyPI brings CUDA.
make_torch() {
  local to=$cache/torch package packages
  [[ ! -d $to ]] || return 0
  rm -rf "$to.new" && mkdir -p "$to.new/packages" || return
  quietly apt-get update || true # without root, what is listed has to do
  mapfile -t packages < <(apt-get install --reinstall --no-install-recommends --yes --print-uris python3-torch |
    sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p")
  [[ ${#packages[@]} -gt 0 ]] || return
  (cd "$to.new/packages" && quietly apt-get download "${packages[@]}") || return
  for package in "$to.new"/packages/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$to.new" --exclude=./usr/share || return
  done
  rm -rf "$to.new/packages" && mv "$to.new" "$to"
}

readonly keda=2.21.0
readonly prometheus_operator=github.com/prometheus-operator/prometheus-operator@v0.85.0

# module_folder MODULE@VERSION prints where Go keeps a module, and downloads it.
module_folder() { (cd / && go mod download -json "$1") | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'; }

# make_kubernetes builds a checker of manifests, and takes the schemas of KEDA's and the Prometheus Operator's objects from their modules.
make_kubernetes() {
  local to=$cache/kubernetes scaling monitoring
  [[ ! -x $to/kubectl-validate ]] || return 0
  scaling=$(module_folder "github.com/kedacore/keda/v2@v$keda") || return
  monitoring=$(module_folder "$prometheus_operator") || return
  mkdir -p "$to/crds"
  install -m 644 "$scaling/config/crd/bases/keda.sh_scaledobjects.yaml" "$monitoring"/example/prometheus-operator-crd/*_{podmonitors,prometheusrules}.yaml "$to/crds"
  GOBIN=$(realpath "$to") quietly go install sigs.k8s.io/kubectl-validate@v0.0.4
}

# make_oip_document PYTHON takes the Open Inference Protocol's OpenAPI document out of a package, without what that needs.
make_oip_document() {
  local to=$cache/oip requirements=tests/requirements-oip.txt
  ! cmp -s "$requirements" "$to/.made-from" || return 0
  need_uv "$1" && rm -rf "$to" &&
    quietly "$cache/uv/bin/uv" pip install --no-config --no-deps --python "$1" --target "$to" --requirement "$requirements" &&
    cp "$requirements" "$to/.made-from"
}

# make_collector builds an OpenTelemetry collector, which takes minutes the first time.
make_collector() { (cd tests/collector && quietly go build -o "$cache/collector/collector" .); }

# has_valgrind reports whether valgrind is there, and the header that marks what to count.
has_valgrind() { command -v valgrind >/dev/null && [[ -f /usr/include/valgrind/callgrind.h ]]; }

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

# begin_newest_root begins what newest_suites waits for, and leaves it to them to fail.
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
  test_pythons() { # none of those that the home folder has
    local version
    for version in $newest_pythons; do probe "/usr/bin/python$version"; done
  }
  need_test_tools
  make_test_pythons
  make_pydantic1
  python_suites 30-pyembed
  sdk_suites
  go_suite 55-whole-newest PINION_BIN="$PWD/bin/pinion" PINION_TEST_PYTHONS="$(joined "${venvs[@]}")" \
    PINION_TEST_SMOKE_PYTHONS="$(joined "${smoke_venvs[@]}")" PINION_TEST_EACH_PYTHON_ONLY=1 \
    -vet=off -count=1 -p 2 -parallel 3 -timeout 20m "${subjects[@]}"
}

## test             the tests, in at most 8 minutes on two cores: all with the oldest and the newest Python, and a model of
##                  each kind with the others; the last line counts them
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
  whole_suite 50-whole bin/pinion -parallel 4 # of each of three packages: most of them wait
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

## asan             the C code, and the whole with it, under AddressSanitizer and UndefinedBehaviorSanitizer
cmd_asan() {
  export PINION_TEST_FULL=1
  start_tests
  make_models
  # One after the other: with both of gcc's runtimes in a process, neither minds log_path for what UBSan finds.
  export ASAN_OPTIONS UBSAN_OPTIONS PYTHONMALLOC CGO_CFLAGS CGO_LDFLAGS
  # Python keeps memory until its end, and asks for too much of it on purpose. The fatal signals are left to
  # faulthandler, as without a sanitizer.
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path=$results/finding-asan
  ASAN_OPTIONS+=:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0
  ASAN_OPTIONS+=:use_sigaltstack=0 # else it unmaps, at the end of a slot's thread, the stack that the worker gave that
  PYTHONMALLOC=malloc # Python's own allocator would hide overruns
  CGO_CFLAGS="-g -O1 -fno-omit-frame-pointer"
  CGO_LDFLAGS="-Wl,--no-as-needed -lstdc++" # else it does not find the functions of C++ in libraries that come later
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

# no_findings fails where a sanitizer wrote of an error. Warnings, as of a refused allocation, are not findings.
no_findings() {
  local findings
  findings=$(grep -lE 'ERROR: |runtime error: ' "$results"/finding-* 2>/dev/null) || return 0
  xargs cat <<<"$findings"
  return 1
}

# Scripts of pyembed/testdata for cmd_tsan: all.
readonly tsan_scripts='threads around batch blocking busypoll events files health large loop parity streams train views'

## tsan             the C code of a worker, without Go, under ThreadSanitizer, with a Python without a GIL
cmd_tsan() {
  start_results
  [[ -x $kept/python3.14t/bin/python3 ]] || suite 05-compiled-python compile_python 3.14t
  suite 10-build-tsan build_tsan
  local script
  for script in $tsan_scripts; do suite "30-tsan-$script" tsan_one "$script"; done
  end_tests
}

# build_tsan compiles the worker that tests/instructions has, and a script that starts it. libpython is not compiled for it, so
# accesses by functions of libc are left out: they may be Python's. There are no suppressions.
build_tsan() {
  local python=$kept/python3.14t sources
  mapfile -t sources < <(find pyembed -maxdepth 1 -name 'px_*.c' ! -name '*jsontest*' | sort)
  gcc -std=c11 -D_DEFAULT_SOURCE -O1 -g -fno-omit-frame-pointer -fsanitize=thread -fvisibility=hidden -rdynamic \
    -Wl,--wrap=px_find_next -Ithird_party/cpy3 -Ipyembed -o bin/worker-tsan tests/instructions/testdata/worker.c \
    tests/instructions/testdata/tsan.c third_party/cpy3/open.c "${sources[@]}" -ldl -lpthread &&
    printf '#!/bin/sh\nexec %q %q %q %q\n' "$PWD/bin/worker-tsan" "$python/bin/python3" \
      "$python/lib/libpython3.14t.so.1.0" "$PWD/pyembed/sdk" >bin/start-tsan && chmod +x bin/start-tsan
}

# tsan_one SCRIPT fails where the script does, or a worker that it starts has a finding.
tsan_one() {
  local scratch status=0 python=$kept/python3.14t
  scratch=$(mktemp -d)
  PINION_TEST_SCRATCH=$scratch \
    TSAN_OPTIONS=ignore_interceptors_accesses=1:report_thread_leaks=0:log_path=$results/finding-tsan-$1 \
    "$python/bin/python3" -B "pyembed/testdata/worker_$1.py" "$PWD/bin/start-tsan" "$python/lib/libpython3.14t.so.1.0" \
    "$PWD/pyembed/sdk" || status=$?
  rm -rf "$scratch"
  ! compgen -G "$results/finding-tsan-$1.*" || { cat "$results/finding-tsan-$1".*; return 1; }
  return "$status"
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
  whole_suite 80-fleet bin/pinion -run '^TestFleet$' -v
  end_tests
}
