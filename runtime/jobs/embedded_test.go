package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAcceptedJobsSurviveARestart(t *testing.T) {
	t.Parallel()
	o := EmbedOptions{Dir: filepath.Join(t.TempDir(), "queue")}
	first, q := embedded(t, o)
	job := Job{ID: "p1", Kind: Prediction, Class: Normal, Attempts: 3}
	if _, err := q.Accept(t.Context(), job, json.RawMessage(`{"id":"p1"}`), false); err != nil {
		t.Fatal(err)
	}
	_, err := Embed(o)
	var used *FolderInUseError
	if !errors.As(err, &used) {
		t.Errorf("a second server on the folder: %v", err)
	}
	first.Close()
	if info, err := os.Stat(o.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder's mode is %v, %v", info.Mode(), err)
	}
	_, q = embedded(t, o)
	s, err := q.Find(context.Background(), "p1", shower{})
	if err != nil || s.Status != Starting {
		t.Errorf("after a restart: %+v, %v", s, err)
	}
	if n, err := q.Waiting(t.Context()); n != 1 || err != nil {
		t.Errorf("%d jobs wait, %v", n, err)
	}
}

// embedded starts a server and joins its queue.
func embedded(t *testing.T, o EmbedOptions) (*Embedded, *Queue) {
	t.Helper()
	s, err := Embed(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	q, err := Open(t.Context(), nc, Options{Model: "m", Server: "a", Bytes: 16 << 20, AckWait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return s, q
}

// TestASlowNATSIsNotStartedAgain: that it did not answer in time says nothing of its store, and to start it again would lose what is
// on its way.
func TestASlowNATSIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	before := r.server.nats
	r.doubt()
	if r.server.nats != before {
		t.Error("NATS was started again, though nothing is wrong with its store")
	}
}
