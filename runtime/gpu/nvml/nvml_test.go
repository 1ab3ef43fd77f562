//go:build cgo

package nvml

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pinion/tests/assert"
)

// fakeLibrary compiles testdata/fakenvml.c.
func fakeLibrary(t *testing.T) string {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("no C compiler: %v", err)
	}
	out := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	text, err := exec.Command(cc, "-shared", "-fPIC", "-Wall", "-Werror", "-o", out, "testdata/fakenvml.c").CombinedOutput()
	assert.TrueNow(t, err == nil, "compile the stand-in: got %v, want no error\n%s", err, text)
	return out
}

const long = time.Minute // bounds only what fails

func TestNVML_Samples(t *testing.T) {
	s := New(Options{Library: fakeLibrary(t), Timeout: long})
	for range 3 {
		want := []Sample{{0, 5 << 30, 80 << 30, 0.75}, {2, 1 << 30, 80 << 30, -0.01}}
		got := s.Samples()
		assert.TrueNow(t, fmt.Sprint(got) == fmt.Sprint(want), "got %v, want %v", got, want)
	}
}

func TestNvml_NoLibrary(t *testing.T) {
	got := New(Options{Library: filepath.Join(t.TempDir(), "none.so"), Timeout: long}).Samples()
	assert.True(t, len(got) == 0, "got %v, want none", got)
	if got := New(Options{Library: "libm.so.6", Timeout: long}).Samples(); len(got) != 0 { // it has none of the functions
		t.Errorf("got %v, want none", got)
	}
}

func TestNvml_BrokenDriver(t *testing.T) {
	t.Setenv("FAKE_NVML_BROKEN", "1")
	got := New(Options{Library: fakeLibrary(t), Timeout: long}).Samples()
	assert.True(t, len(got) == 0, "got %v, want none", got)
}

// TestNvml_HangingDriver: Samples waits only for its timeout, asks once, and uses a late answer.
func TestNvml_HangingDriver(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	t.Setenv("FAKE_NVML_GATE", gate)
	s := New(Options{Library: fakeLibrary(t), Timeout: time.Millisecond})
	for range 3 {
		got := s.Samples()
		assert.True(t, got == nil, "got %v of a driver that hangs, want nil", got)
	}
	s.mu.Lock()
	l := s.sampling
	s.mu.Unlock()
	assert.TrueNow(t, l != nil && l.late, "the look that hangs is %+v, want late true", l)
	assert.NoError(t, os.WriteFile(gate, nil, 0o600))
	<-l.done
	s.o.Timeout = long
	got := s.Samples()
	assert.True(t, len(got) == 2, "got %v of a driver that is well again, want 2", got)
}
