package queue

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// streamFolder is where an embedded NATS keeps a stream.
func streamFolder(store, stream string) string {
	return filepath.Join(store, "jetstream", "$G", "streams", stream)
}

// TestStore_ServerIsKilledWhileItMakesItsQueue: the next one finishes it, however far it came.
func TestStore_ServerIsKilledWhileItMakesItsQueue(t *testing.T) {
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
		first.Kill()
		s := harness.StartMember(t, "embed:"+store, harness.Options{Dir: dir})
		harness.Enqueue(t, s, "p1", harness.Input{})
		harness.WaitStatus(t, s, "p1", "succeeded")
		s.Kill()
	}
}

// TestStore_DamagedStoreIsRefused: the error names the part that does not open. Where all of them are damaged, they are
// not made anew.
func TestStore_DamagedStoreIsRefused(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	s := harness.StartMember(t, "embed:"+store, harness.Options{})
	harness.Enqueue(t, s, "p1", harness.Input{})
	harness.WaitStatus(t, s, "p1", "succeeded")
	s.Kill()
	files := assert.Must(filepath.Glob(streamFolder(store, "*")))(t)
	assert.EqualNow(t, "streams", len(files), 6)
	refused := func(want string) {
		t.Helper()
		harness.WantRefused(t, harness.Options{
			Model: "fleet.py", Dir: s.Dir, Args: []string{"--nats", "embed:" + store, "--model", "m"},
		},
			harness.AnyCode, want)
	}
	damage(t, streamFolder(store, "KV_pinion_state_m"))
	refused("the stream KV_pinion_state_m cannot be opened")
	for _, file := range files {
		damage(t, file)
	}
	refused("cannot be opened, for its files are damaged")
}

// TestStore_QueueThatLostStream: what NATS has lost is not made anew in silence, with jobs in it that would be
// forgotten.
func TestStore_QueueThatLostStream(t *testing.T) {
	t.Parallel()
	at, s := startMember(t)
	harness.Enqueue(t, s, "p1", harness.Input{})
	harness.WaitStatus(t, s, "p1", "succeeded")
	js := harness.JetStream(t, at)
	for _, stream := range []string{"PINION_HOOKS_m", "PINION_JOBS_m"} {
		assert.NoError(t, js.DeleteStream(t.Context(), stream))
	}
	code, text := harness.Refused(t,
		harness.Options{Model: "fleet.py", Dir: s.Dir, Args: []string{"--nats", at.URL, "--model", "m", "--ack-wait", "15s"}})
	want := "the stream PINION_JOBS_m of the job queue is missing, though other parts are there"
	assert.True(t, code == 2 && strings.Contains(text, want), "exit code %d: %s; want %s", code, text, want)
	assert.False(t, strings.Contains(text, "cannot be reached"),
		`NATS can be reached, but: %s, want no "cannot be reached" in it`, text)
	if _, err := js.Stream(t.Context(), "PINION_JOBS_m"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("it was made anew: %v, want jetstream.ErrStreamNotFound", err)
	}
	harness.WantCode(t, "a server that runs takes an asynchronous request",
		s.Create(map[string]any{"id": "p2", "input": harness.Input{}}, "Prefer", "respond-async"),
		http.StatusServiceUnavailable)
	harness.WantCode(t, "a synchronous request", s.Input(harness.Input{}), http.StatusOK)
}

// damage overwrites what NATS says of a stream.
func damage(t *testing.T, folder string) {
	t.Helper()
	harness.WriteFile(t, filepath.Join(folder, "meta.inf"), "\x00\x01\x02")
}
