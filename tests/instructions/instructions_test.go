package instructions

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// A request may grow by limit over the count that is recorded for the same build of CPython, and by nearLimit over that
// of the nearest recorded build: compilers, libc and CPython itself differ.
const (
	limit     = 0.05
	nearLimit = 0.5
)

// envValgrind names valgrind. envRecord, as 1, has the counts written down.
const (
	envValgrind = "PINION_TEST_VALGRIND"
	envRecord   = "PINION_RECORD"
)

// cases are what count.py counts, in its order.
var cases = []string{"echo", "echo-100kB", "async-echo", "stream-item", "batch-1", "batch-32-item"}

func TestMain(m *testing.M) { os.Exit(harness.Main(m, ".")) }

// TestInstructions_RequestsCostNoMoreInstructions counts in each Python, and compares with what is recorded for it.
func TestInstructions_RequestsCostNoMoreInstructions(t *testing.T) {
	valgrind := os.Getenv(envValgrind)
	if valgrind == "" {
		t.Skipf("%s names no valgrind: ./build.sh instructions installs it", envValgrind)
	}
	worker := build(t)
	record := readRecord(t)
	t.Cleanup(func() {
		if os.Getenv(envRecord) == "1" && !t.Failed() {
			record.write(t)
		}
	})
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		b := buildOf(t, python)
		counts := count(t, valgrind, worker, python, b.library)
		if os.Getenv(envRecord) == "1" {
			record.set(b.name, counts)
			return
		}
		name, known := record.nearest(b.name)
		assert.TrueNow(t, known != nil,
			"%s: nothing is recorded: %s=1 ./build.sh instructions records it", b.name, envRecord)
		most := limit
		if name != b.name {
			most = nearLimit
		}
		t.Logf("%s: %v; %s: %v", b.name, counts, name, known)
		for _, problem := range grown(known, counts, most) {
			t.Errorf("%s (compared with %s; %s=1 ./build.sh instructions records this build)", problem, name, envRecord)
		}
	})
}

// grown returns the counts that exceed the recorded ones by more than this part of them.
func grown(recorded, counts map[string]int, most float64) []string {
	var problems []string
	for _, name := range cases {
		was, is := recorded[name], counts[name]
		if growth := float64(is-was) / float64(was); was == 0 || is == 0 || growth > most {
			problems = append(problems,
				fmt.Sprintf("%s: %d instructions, %+.1f %% of the %d that are recorded", name, is, 100*growth, was))
		}
	}
	return problems
}

// TestInstructions_GrowthIsFound: five in a hundred pass, six do not, nor does a case that was not counted.
func TestInstructions_GrowthIsFound(t *testing.T) {
	recorded := map[string]int{}
	for _, name := range cases {
		recorded[name] = 100
	}
	for _, c := range []struct {
		echo, problems int
	}{{105, 0}, {80, 0}, {106, 1}, {0, 1}} {
		counts := maps.Clone(recorded)
		counts["echo"] = c.echo
		got := grown(recorded, counts, limit)
		assert.True(t, len(got) == c.problems, "%d instead of 100 instructions: %q, want %d", c.echo, got, c.problems)
	}
}

// build compiles the worker with the flags of pyembed/cgo.go.
func build(t *testing.T) string {
	t.Helper()
	sources := assert.Must(filepath.Glob("../../pyembed/*.c"))(t)
	worker := filepath.Join(t.TempDir(), "worker")
	arguments := []string{
		"-std=c11", "-D_DEFAULT_SOURCE", "-O2", "-g", "-fvisibility=hidden", "-rdynamic",
		"-I../../third_party/cpy3", "-I../../pyembed", "-o", worker, "testdata/worker.c", "../../third_party/cpy3/open.c",
	}
	for _, source := range sources {
		if filepath.Base(source) != "codec_jsontest.c" { // which is not in the binary either
			arguments = append(arguments, source)
		}
	}
	out, err := exec.CommandContext(t.Context(), "gcc", append(arguments, "-ldl", "-lpthread")...).CombinedOutput()
	assert.NoError(t, err, "compile the worker", out)
	return worker
}

// pythonBuild is what a count depends on, beside our code.
type pythonBuild struct {
	name    string // of the version, the processor, the compilers, libc, and whether CPython was optimised
	library string
}

func buildOf(t *testing.T, python harness.Python) pythonBuild {
	t.Helper()
	const ask = `import os, platform, sys, sysconfig
get = sysconfig.get_config_var
kind = "pgo" if "--enable-optimizations" in (get("CONFIG_ARGS") or "") else "plain"
print(platform.python_version(), platform.machine(), platform.python_compiler().replace(" ", "-").lower(), "-".join(platform.libc_ver()), kind, sep=",")
path = os.path.join(get("LIBDIR"), get("INSTSONAME"))
print(path if os.path.exists(path) else get("INSTSONAME"))`
	out := assert.Must(exec.CommandContext(t.Context(), python.Path, "-I", "-c", ask).Output())(t)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	gcc := assert.Must(exec.CommandContext(t.Context(), "gcc", "-dumpfullversion").Output())(t)
	return pythonBuild{name: lines[0] + ",ours-gcc-" + strings.TrimSpace(string(gcc)), library: lines[1]}
}

// launcher starts the worker under callgrind, as a front would start the binary.
const launcher = `#!/bin/sh
exec "$VALGRIND" --tool=callgrind --instr-atstart=no --callgrind-out-file="$PINION_TEST_SCRATCH/callgrind.%p" \
  --log-file="$PINION_TEST_SCRATCH/valgrind.%p.log" "$WORKER" "$PYTHON" "$LIBPYTHON" "$SDK"
`

// count runs count.py.
func count(t *testing.T, valgrind, worker string, python harness.Python, library string) map[string]int {
	t.Helper()
	sdk := assert.Must(filepath.Abs("../../pyembed/sdk"))(t)
	scratch := t.TempDir()
	start := filepath.Join(scratch, "start")
	assert.NoError(t, os.WriteFile(start, []byte(launcher), 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python.Path, "-B", "testdata/count.py", start, library, sdk)
	cmd.Env = append(harness.BareEnv(), "PYTHONPATH=../../pyembed/testdata", "PINION_TEST_SCRATCH="+scratch,
		"VALGRIND="+valgrind,
		"WORKER="+worker, "PYTHON="+python.Path, "LIBPYTHON="+library, "SDK="+sdk, "PYTHONHASHSEED=0",
		// The processor decides how libc copies and compares, so it is given the same ways everywhere.
		"GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	assert.NoError(t, err, &complaints)
	counts := map[string]int{}
	for line := range strings.Lines(string(out)) {
		name, n, _ := strings.Cut(strings.TrimSpace(line), " ")
		if counts[name], err = strconv.Atoi(n); err != nil {
			t.Fatalf("got %q from count.py, want names and counts", out)
		}
	}
	return counts
}
