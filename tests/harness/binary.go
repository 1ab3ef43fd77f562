package harness

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// The variables by which the whole run is told what to test with.
const (
	envBinary       = "PINION_BIN"
	envPythons      = "PINION_TEST_PYTHONS"
	envSmokePythons = "PINION_TEST_SMOKE_PYTHONS"
	envEachOnly     = "PINION_TEST_EACH_PYTHON_ONLY"
	envSoak         = "PINION_SOAK"

	envCache = "PINION_TEST_CACHE" // of this run alone, from Main to BareEnv
)

// Main is for TestMain: it builds the binary where no PINION_BIN names one, runs the tests, and returns the exit code.
func Main(m *testing.M) int {
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
		file := filepath.Join(folder, "pinion")
		build := exec.Command("go", "build", "-o", file, "pinion/cmd/pinion")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
			return 1
		}
		os.Setenv(envBinary, file)
	}
	return m.Run()
}

// Binary is the path of the binary under test.
func Binary(t testing.TB) string {
	t.Helper()
	file, err := filepath.Abs(os.Getenv(envBinary))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("%s names no binary: %v", envBinary, err)
	}
	return file
}

// Sanitized tells whether the binary was built with -race or -asan, which use memory as they please.
func Sanitized(t testing.TB) bool {
	t.Helper()
	info, err := buildinfo.ReadFile(Binary(t))
	if err != nil {
		t.Fatalf("read build information: %v", err)
	}
	for _, s := range info.Settings {
		if (s.Key == "-race" || s.Key == "-asan") && s.Value == "true" {
			return true
		}
	}
	return false
}

// Soak is full where the long runs are asked for, else quick.
func Soak(full, quick int) int {
	if os.Getenv(envSoak) == "1" {
		return full
	}
	return quick
}
