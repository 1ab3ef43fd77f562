package store

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/natsserver"
	"pinion/tests/assert"
)

// envNATS makes the test's program the process of a NATS server.
const envNATS = "PINION_TEST_NATS"

const testVersion = "1.2.3"

func TestMain(m *testing.M) {
	if os.Getenv(envNATS) != "" {
		os.Exit(natsserver.Main(os.Args[1:], testVersion))
	}
	os.Exit(m.Run())
}

// embedOptions adds to o what a test's server has.
func embedOptions(t *testing.T, o EmbedOptions) EmbedOptions {
	t.Helper()
	program, err := os.Executable()
	assert.NoError(t, err)
	o.Program, o.Version, o.Env = program, testVersion, append(o.Env, envNATS+"=1")
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	return o
}

// embedded starts a server and joins its queue.
func embedded(t *testing.T, o EmbedOptions) (*Embedded, *Queue) {
	t.Helper()
	s, err := Embed(embedOptions(t, o))
	assert.NoError(t, err)
	t.Cleanup(s.Close)
	nc, err := s.Connect(nats.MaxReconnects(-1))
	assert.NoError(t, err)
	t.Cleanup(nc.Close)
	q, err := Open(t.Context(), nc, Options{Model: "m", Server: "a", Bytes: 16 << 20, AckWait: time.Second})
	assert.NoError(t, err)
	return s, q
}

func (e *Embedded) pid() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.server.cmd.Process.Pid
}

func TestEmbedded_AcceptedJobsSurviveRestart(t *testing.T) {
	t.Parallel()
	o := EmbedOptions{Dir: filepath.Join(t.TempDir(), "queue")}
	first, q := embedded(t, o)
	job := Job{ID: "p1", Kind: Prediction, Class: Normal, Attempts: 3}
	if _, err := q.Accept(t.Context(), job, json.RawMessage(`{"id":"p1"}`), false); err != nil {
		t.Fatal(err)
	}
	_, err := Embed(embedOptions(t, o))
	var used *FolderInUseError
	assert.True(t, errors.As(err, &used), "a second server on the folder: got %v, want a FolderInUseError", err)
	first.Close()
	info, err := os.Stat(o.Dir)
	assert.NoError(t, err)
	assert.Equal(t, "the folder's mode", info.Mode().Perm(), 0o700)
	_, q = embedded(t, o)
	waits(t, q, "p1")
}

// waits fails unless a job is the only one, and waits.
func waits(t *testing.T, q *Queue, id string) {
	t.Helper()
	s, err := q.Find(context.Background(), id, renderer{})
	assert.NoError(t, err)
	assert.Equal(t, "after a restart: s.Status", s.Status, Starting)
	n, err := q.Waiting(t.Context())
	assert.True(t, n == 1 && err == nil, "got %d waiting jobs, %v; want 1", n, err)
}

// TestEmbedded_ServerIsStartedAgain: a NATS server that is killed is started again, on the same jobs, for the same
// connection.
func TestEmbedded_ServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	s, q := embedded(t, EmbedOptions{Dir: t.TempDir()})
	r := &rig{t: t, Queue: q}
	r.accept("p1")
	before := s.pid()
	assert.NoError(t, syscall.Kill(before, syscall.SIGKILL))
	r.eventually("another process serves", func() bool { return s.pid() != before && q.nc.IsConnected() })
	r.eventually("the job is known", func() bool { return r.known("p1") })
	waits(t, q, "p1")
}

// TestEmbedded_SlowServerIsNotStartedAgain: that it did not answer in time says nothing about its store, and a restart
// would lose messages in transit.
func TestEmbedded_SlowServerIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	s, q := embedded(t, EmbedOptions{Dir: t.TempDir()})
	q.o.Embedded = s
	before := s.pid()
	q.onNoAnswer()
	(&rig{t: t, Queue: q}).accept("p1") // its line was read by now, or it is not slow
	assert.Equal(t, "the process, with whose store nothing is wrong", s.pid(), before)
}

// TestEmbedded_SignalsOfTerminalReachNoServer: it serves until its parent has drained.
func TestEmbedded_SignalsOfTerminalReachNoServer(t *testing.T) {
	t.Parallel()
	s, q := embedded(t, EmbedOptions{Dir: t.TempDir()})
	before := s.pid()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		assert.NoError(t, syscall.Kill(before, sig))
	}
	(&rig{t: t, Queue: q}).accept("p1")
	assert.Equal(t, "process", s.pid(), before)
	s.Close()
	assert.ErrorIs(t, "Close: for the server's process", syscall.Kill(before, 0), syscall.ESRCH)
}

func TestEmbedded_StartIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	assert.NoError(t, os.WriteFile(broken, []byte("no program"), 0o700))
	for name, c := range map[string]struct {
		change func(*EmbedOptions)
		want   string
	}{
		"another version": {
			func(o *EmbedOptions) { o.Version = "1.2.4" },
			"pinion-nats is version 1.2.3 and pinion is version 1.2.4: install both from one release",
		},
		"no program": {
			func(o *EmbedOptions) { o.Program = filepath.Join(dir, "none") },
			"start the job queue: open " + filepath.Join(dir, "none"),
		},
		"a broken one":  {func(o *EmbedOptions) { o.Program = broken }, "start the job queue with " + broken + ": "},
		"one that ends": {func(o *EmbedOptions) { o.Program = "/bin/true" }, "pinion-nats has ended"},
		"no folder": {
			func(o *EmbedOptions) { o.Dir = filepath.Join(broken, "queue") },
			"make the job queue's folder: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := embedOptions(t, EmbedOptions{Dir: t.TempDir()})
			c.change(&o)
			s, err := Embed(o)
			if err == nil {
				s.Close()
			}
			assert.True(t, err != nil && strings.Contains(err.Error(), c.want), "got %v, want %q", err, c.want)
		})
	}
}
