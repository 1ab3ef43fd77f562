package tests

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// listensAt is the address in the log of a server without --host.
func listensAt(t *testing.T, wrap []string, env ...string) string {
	t.Helper()
	words := append(append([]string{}, wrap...), harness.Binary(t), "serve", "--port", "0", "--log-format", "json",
		"--python", harness.AnyPython(t).Path, "--predictor", "run.py:run")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = folder(t, "run.py", "def run() -> int:\n    return 1\n")
	cmd.Env = append(append(harness.BareEnv(), "TMPDIR="+harness.ShortTempDir(t)), env...)
	log := beside(t, "the server", cmd)
	address := ""
	harness.Eventually(t, "the server listens", func() bool {
		line, ok := log.Find("listening")
		address = line.Address
		return ok
	})
	return address
}

// TestWhereAServerListensByDefault: on all addresses in a container, else for this machine alone; the log says which.
func TestWhereAServerListensByDefault(t *testing.T) {
	t.Parallel()
	want := "http://127.0.0.1:"
	for _, trace := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(trace); err == nil {
			want = "http://0.0.0.0:"
		}
	}
	if got := listensAt(t, nil); !strings.HasPrefix(got, want) {
		t.Errorf("it listens at %s, want %s", got, want)
	}
	if got := listensAt(t, nil, "PINION_HOST=127.0.0.2"); !strings.HasPrefix(got, "http://127.0.0.2:") {
		t.Errorf("it listens at %s in spite of PINION_HOST", got)
	}
	if got := listensAt(t, firstProcess(t)); !strings.HasPrefix(got, "http://0.0.0.0:") {
		t.Errorf("as a container's first process it listens at %s", got)
	}
}
