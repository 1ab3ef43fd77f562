package tests

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/harness"
)

// streamFolder is where an embedded NATS keeps a stream.
func streamFolder(store, stream string) string {
	return filepath.Join(store, "jetstream", "$G", "streams", stream)
}

// TestAServerIsKilledWhileItMakesItsQueue: the next one finishes it, however far it came.
func TestAServerIsKilledWhileItMakesItsQueue(t *testing.T) {
	t.Parallel()
	dir := ""
	for _, part := range []string{"PINION_JOBS_m", "PINION_DEAD_m", "OBJ_pinion_result_m"} {
		store := t.TempDir()
		args := []string{"--nats", "embed:" + store, "--model", "m", "--ack-wait", "15s"}
		first := harness.Launch(t, harness.Options{Model: "fleet.py", Dir: dir, Args: args})
		dir = first.Dir
		for end := time.Now().Add(time.Minute); ; { // as soon as it is there, for the next parts follow within a millisecond
			if _, err := os.Stat(streamFolder(store, part)); err == nil {
				break
			} else if !errors.Is(err, fs.ErrNotExist) || time.Now().After(end) {
				t.Fatal(err)
			}
		}
		first.Signal(syscall.SIGKILL)
		first.Killed()
		s := member(t, "embed:"+store, harness.Options{Dir: dir})
		enqueue(t, s, "p1", input{})
		becomes(t, s, "p1", "succeeded")
		s.Signal(syscall.SIGKILL)
		s.Killed()
	}
}

// TestADamagedStoreIsRefused: the error names the part that does not open. Where all of them are damaged, they are not made anew.
func TestADamagedStoreIsRefused(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	s := member(t, "embed:"+store, harness.Options{})
	enqueue(t, s, "p1", input{})
	becomes(t, s, "p1", "succeeded")
	s.Signal(syscall.SIGKILL)
	s.Killed()
	all, err := filepath.Glob(streamFolder(store, "*"))
	if err != nil || len(all) != 6 {
		t.Fatalf("the store has %q, %v", all, err)
	}
	refused := func(want string) {
		t.Helper()
		code, text := harness.Refused(t, harness.Options{Model: "fleet.py", Dir: s.Dir, Args: []string{"--nats", "embed:" + store, "--model", "m"}})
		if code == 0 || !strings.Contains(text, want) {
			t.Errorf("exit code %d: %s; want %s", code, text, want)
		}
	}
	damage(t, streamFolder(store, "KV_pinion_state_m"))
	refused("the stream KV_pinion_state_m cannot be opened")
	for _, one := range all {
		damage(t, one)
	}
	refused("cannot be opened, for its files are damaged")
}

// damage overwrites what NATS says of a stream.
func damage(t *testing.T, folder string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "meta.inf"), []byte("\x00\x01\x02"), 0o600); err != nil {
		t.Fatal(err)
	}
}
