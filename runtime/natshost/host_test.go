package natshost

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

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/state"
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
func embedOptions(t *testing.T, o Options) Options {
	t.Helper()
	program := assert.Must(os.Executable())(t)
	o.Program, o.Version, o.Env = program, testVersion, append(o.Env, envNATS+"=1")
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	return o
}

// queue is a member of the queue of a model.
type queue struct {
	*store.Queue
	t  *testing.T
	nc *nats.Conn
}

// embedded starts a server and joins its queue.
func embedded(t *testing.T, o Options) (*Host, *queue) {
	t.Helper()
	s := assert.Must(Start(embedOptions(t, o)))(t)
	t.Cleanup(s.Close)
	return s, join(t, s)
}

// join joins the queue of a server.
func join(t *testing.T, h *Host) *queue {
	t.Helper()
	nc := assert.Must(nats.Connect("nats://embedded", nats.SetCustomDialer(Dialer{h.o.Dir}), nats.MaxReconnects(-1),
		nats.ReconnectWait(100*time.Millisecond)))(t)
	t.Cleanup(nc.Close)
	q := assert.Must(store.Open(t.Context(), state.Connected(nc),
		state.Options{Model: "m", Server: "a", Bytes: 16 << 20, AckWait: time.Second, Host: h}))(t)
	return &queue{q, t, nc}
}

func (q *queue) accept(id string) {
	q.t.Helper()
	_, err := q.Accept(q.t.Context(), state.Job{ID: id, Kind: state.Prediction, Class: state.Normal, Attempts: 3},
		json.RawMessage(`{"id":"`+id+`"}`), false)
	assert.NoError(q.t, err)
}

func (h *Host) pid() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server.cmd.Process.Pid
}

func TestEmbedded_AcceptedJobsSurviveRestart(t *testing.T) {
	t.Parallel()
	o := Options{Dir: filepath.Join(t.TempDir(), "queue")}
	first, q := embedded(t, o)
	q.accept("p1")
	_, err := Start(embedOptions(t, o))
	var used *FolderInUseError
	assert.True(t, errors.As(err, &used), "a second server on the folder: got %v, want a FolderInUseError", err)
	first.Close()
	info := assert.Must(os.Stat(o.Dir))(t)
	assert.Equal(t, "the folder's mode", info.Mode().Perm(), 0o700)
	_, q = embedded(t, o)
	waits(t, q, "p1")
}

// waits fails unless a job is the only one, and waits.
func waits(t *testing.T, q *queue, id string) {
	t.Helper()
	s := assert.Must(q.Find(context.Background(), id, nil))(t)
	assert.Equal(t, "after a restart: status", s.Status, state.Starting)
	n, err := q.State.Waiting(t.Context())
	assert.True(t, n == 1 && err == nil, "got %d waiting jobs, %v; want 1", n, err)
}

// TestEmbedded_ServerIsStartedAgain: a NATS server that is killed is started again, on the same jobs, for the same
// connection.
func TestEmbedded_ServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	s, q := embedded(t, Options{Dir: t.TempDir()})
	q.accept("p1")
	before := s.pid()
	assert.NoError(t, syscall.Kill(before, syscall.SIGKILL))
	assert.Eventually(t, "another process serves", func() bool { return s.pid() != before && q.nc.IsConnected() })
	assert.Eventually(t, "the job is known", func() bool {
		_, err := q.Find(context.Background(), "p1", nil)
		return err == nil
	})
	waits(t, q, "p1")
}

// TestEmbedded_SlowServerIsNotStartedAgain: that it did not answer in time says nothing about its store, and a restart
// would lose messages in transit.
func TestEmbedded_SlowServerIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	s, q := embedded(t, Options{Dir: t.TempDir()})
	before := s.pid()
	s.Revive()
	q.accept("p1") // its line was read by now, or it is not slow
	assert.Equal(t, "the process, with whose store nothing is wrong", s.pid(), before)
}

// TestEmbedded_SignalsOfTerminalReachNoServer: it serves until its parent has drained.
func TestEmbedded_SignalsOfTerminalReachNoServer(t *testing.T) {
	t.Parallel()
	s, q := embedded(t, Options{Dir: t.TempDir()})
	before := s.pid()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		assert.NoError(t, syscall.Kill(before, sig))
	}
	q.accept("p1")
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
		change func(*Options)
		want   string
	}{
		"another version": {
			func(o *Options) { o.Version = "1.2.4" },
			"pinion-nats is version 1.2.3 and pinion is version 1.2.4: install both from one release",
		},
		"no program": {
			func(o *Options) { o.Program = filepath.Join(dir, "none") },
			"start the job queue: open " + filepath.Join(dir, "none"),
		},
		"a broken one":  {func(o *Options) { o.Program = broken }, "start the job queue with " + broken + ": "},
		"one that ends": {func(o *Options) { o.Program = "/bin/true" }, "pinion-nats has ended"},
		"no folder": {
			func(o *Options) { o.Dir = filepath.Join(broken, "queue") },
			"make the job queue's folder: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := embedOptions(t, Options{Dir: t.TempDir()})
			c.change(&o)
			s, err := Start(o)
			if err == nil {
				s.Close()
			}
			assert.True(t, err != nil && strings.Contains(err.Error(), c.want), "got %v, want %q", err, c.want)
		})
	}
}

// TestSocket_OfAnotherProcess works in a folder whose path is longer than a socket's may be, and after a process that
// was killed.
func TestSocket_OfAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	_, err := state.DialOnce(t.Context(), Dialer{dir}, "test")
	assert.True(t, err != nil, "without a server: got no error, want one")
	assert.NoError(t, os.Mkdir(dir, 0o700))
	// what a killed process left
	assert.NoError(t, os.WriteFile(filepath.Join(dir, socketName), nil, 0o600))
	embedded(t, Options{Dir: dir})
	conn := assert.Must(state.DialOnce(t.Context(), Dialer{dir}, "test"))(t)
	defer conn.Close()
	a := assert.Must(admin.Open(t.Context(), conn, "m", 0, nil))(t)
	n, err := a.Count(t.Context())
	assert.True(t, err == nil && n.Capacity == 100_000, "counts are %+v, %v, want Capacity 100_000", n, err)
}
