# shellcheck shell=bash
# The commands of build.sh that test the C code under sanitizers, which sources this file.

# shellcheck disable=SC2154 # tests/pythons.sh and tests/suites.sh set kept and results
## asan             the C code, and the whole with it, under AddressSanitizer and UndefinedBehaviorSanitizer
cmd_asan() {
  export PINION_TEST_FULL=1
  start_tests
  make_models
  # One after the other: with both of gcc's runtimes in a process, UBSan's findings do not go to log_path.
  export ASAN_OPTIONS UBSAN_OPTIONS PYTHONMALLOC CGO_CFLAGS CGO_LDFLAGS
  # No leaks: Python keeps memory until it exits. Tests ask for too much memory on purpose. The fatal signals are left to
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
  # A test may take a worker that a finding ended for one that it ended itself, so the reports are searched.
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

# no_findings fails if a sanitizer has reported an error. Warnings, as of a refused allocation, are not findings.
no_findings() {
  local findings
  findings=$(grep -lE 'ERROR: |runtime error: ' "$results"/finding-* 2>/dev/null) || return 0
  xargs cat <<<"$findings"
  return 1
}

# Scripts of pyembed/testdata for cmd_tsan: all.
readonly tsan_scripts='threads around batch batchcancel blocking busypoll events files health large loop parity streams train views'

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
  mapfile -t sources < <(find pyembed -maxdepth 1 -name '*.c' ! -name '*jsontest*' | sort)
  gcc -std=c11 -D_DEFAULT_SOURCE -O1 -g -fno-omit-frame-pointer -fsanitize=thread -fvisibility=hidden -rdynamic \
    -Wl,--wrap=px_find_next -Ithird_party/cpy3 -Ipyembed -o bin/worker-tsan tests/instructions/testdata/worker.c \
    tests/instructions/testdata/tsan.c third_party/cpy3/open.c "${sources[@]}" -ldl -lpthread &&
    printf '#!/bin/sh\nexec %q %q %q %q\n' "$PWD/bin/worker-tsan" "$python/bin/python3" \
      "$python/lib/libpython3.14t.so.1.0" "$PWD/pyembed/sdk" >bin/start-tsan && chmod +x bin/start-tsan
}

# tsan_one SCRIPT fails if the script fails or a worker that it starts has a finding.
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
