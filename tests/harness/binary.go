package harness

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"pinion/tests/assert"
)

// The variables that say what to test with.
const (
	envBinary       = "PINION_BIN"
	envPythons      = "PINION_TEST_PYTHONS"
	envSmokePythons = "PINION_TEST_SMOKE_PYTHONS"
	envFreeThreaded = "PINION_TEST_FREE_THREADED"
	envEachOnly     = "PINION_TEST_EACH_PYTHON_ONLY"
	envFull         = "PINION_TEST_FULL"
	envSoak         = "PINION_SOAK"

	envCache = "PINION_TEST_CACHE" // of this run alone, from Main to BareEnv
)

// Main is for TestMain: it builds the binary if no PINION_BIN names one, runs the tests in a folder, and returns the
// exit code. Relative paths, also those in this package, begin there: packages of tests/ name their parent.
func Main(m *testing.M, dir string) int {
	if settings := os.Getenv(envNATS); settings != "" {
		return serveNATS(settings)
	}
	if err := os.Chdir(dir); err != nil {
		fmt.Fprintln(os.Stderr, "enter the folder of the tests:", err)
		return 1
	}
	folder, err := os.MkdirTemp("", "tests-of-pinion-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for this run:", err)
		return 1
	}
	defer os.RemoveAll(folder)
	os.Setenv(envCache, folder)
	if signal.Ignored(syscall.SIGHUP) { // under nohup: the servers are to have it as they would from a shell
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	if os.Getenv(envBinary) == "" {
		bin := filepath.Join(folder, "bin") // apart from the folder pinion in the cache
		build := exec.Command("go", "build", "-o", bin+"/", "pinion/cmd/pinion", "pinion/cmd/pinion-nats")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
			return 1
		}
		os.Setenv(envBinary, filepath.Join(bin, "pinion"))
	}
	return m.Run()
}

// Binary returns the path of the binary under test.
func Binary(t testing.TB) string {
	t.Helper()
	file, err := filepath.Abs(os.Getenv(envBinary))
	assert.NoError(t, err)
	_, err = os.Stat(file)
	assert.NoError(t, err, envBinary, "names no binary")
	return file
}

// Sanitized reports whether the binary was built with -race or -asan, which use memory as they please.
func Sanitized(t testing.TB) bool {
	t.Helper()
	info, err := buildinfo.ReadFile(Binary(t))
	assert.NoError(t, err, "read build information")
	for _, s := range info.Settings {
		if (s.Key == "-race" || s.Key == "-asan") && s.Value == "true" {
			return true
		}
	}
	return false
}

// Full skips a test that ./build.sh test leaves to ./build.sh test-full.
func Full(t testing.TB) {
	t.Helper()
	if !IsFull() {
		t.Skipf("./build.sh test-full runs it, as %s=1 does", envFull)
	}
}

// IsFull reports whether this run has what ./build.sh test leaves to ./build.sh test-full.
func IsFull() bool { return os.Getenv(envFull) != "" || os.Getenv(envSoak) != "" }

// Tool returns a file that ./build.sh test or test-full makes in .cache, or else a program on the PATH. Without any of
// them the test is skipped.
func Tool(t testing.TB, made string, programs ...string) string {
	t.Helper()
	file := assert.Must(filepath.Abs(filepath.Join("..", ".cache", made)))(t)
	if _, err := os.Stat(file); err == nil && made != "" {
		return file
	}
	for _, program := range programs {
		if path, err := exec.LookPath(program); err == nil {
			return path
		}
	}
	t.Skipf("neither %s nor any of %q is there: ./build.sh test-full makes it where it can", file, programs)
	return ""
}

// Soak returns full if the long runs are asked for, else quick.
func Soak(full, quick int) int {
	if os.Getenv(envSoak) == "1" {
		return full
	}
	return quick
}

var poisoned struct {
	once sync.Once
	path string
	err  error
}

// Poisoned returns a binary that overwrites its buffers once they are given back, so that one which is still sent or
// kept is seen at once. The sanitized ones do so too.
func Poisoned(t testing.TB) string {
	t.Helper()
	if Sanitized(t) {
		return Binary(t)
	}
	poisoned.once.Do(func() {
		poisoned.path = filepath.Join(os.Getenv(envCache), "poisoned", "pinion")
		build := exec.Command("go", "build", "-tags", "grpcnotrace,pinion_test", "-trimpath", "-buildvcs=false",
			"-o", poisoned.path, "pinion/cmd/pinion")
		if out, err := build.CombinedOutput(); err != nil {
			poisoned.err = fmt.Errorf("build the binary: %w\n%s", err, out)
		}
	})
	assert.NoError(t, poisoned.err)
	return poisoned.path
}
