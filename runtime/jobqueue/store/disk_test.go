package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/natshost"
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

// TestDisk_FullDisk: new jobs are refused, those that were accepted end, and nothing has to be started again by hand:
// not even where other programs have taken the last byte.
func TestDisk_FullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip("needs to be root, to mount a small disk:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	program := assert.Must(os.Executable())(t)
	host := assert.Must(natshost.Start(natshost.Options{
		Dir: filepath.Join(dir, "queue"), Sync: time.Minute, Program: program, Version: testVersion,
		Env: []string{envNATS + "=1"}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}))(t)
	t.Cleanup(host.Close)
	nc := assert.Must(nats.Connect("nats://embedded", nats.SetCustomDialer(host.Dialer()), nats.MaxReconnects(-1)))(t)
	t.Cleanup(nc.Close)
	q, err := store.Open(t.Context(), state.Connected(nc), state.Options{Model: "m", Server: "a", Bytes: 16 << 20, AckWait: time.Second, Host: host})
	assert.NoError(t, err)
	accept := func(id string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		body := json.RawMessage(`{"input":"` + strings.Repeat("x", 100<<10) + `"}`)
		_, err := q.Accept(ctx, state.Job{ID: id, Kind: state.Prediction, Class: state.Normal, Attempts: 3, Body: body},
			starting(id), false)
		return err
	}
	for i := range 5 {
		assert.NoError(t, accept(fmt.Sprint("p", i)))
	}
	free := fill(t, dir, 4<<20)
	err = accept("refused")
	assert.True(t, errors.Is(err, state.ErrUnavailable) && strings.Contains(err.Error(), "the disk of its folder is full"),
		`a disk with little room: %v, want error ErrUnavailable and err with "the disk of its folder is full"`, err)
	r := &rig{t: t, Queue: q}
	err = r.claims(q).End(t.Context(), state.Succeeded, starting("p0"))
	assert.True(t, err == nil, "an accepted job cannot end: got %v, want no error", err)
	free()

	free = fill(t, dir, 0)
	c := r.claimsAnyhow(q)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if c != nil {
		_ = c.End(ctx, state.Succeeded, starting("p1")) // whether the last page has room for it or not
	}
	free()
	r.eventually("jobs are accepted again", func() bool { return accept("later") == nil || r.known("later") })
	r.eventually("all end", func() bool {
		q.Live.Mu.Lock()
		q.Live.Connected = time.Time{}
		q.Live.Mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		consumer, err := q.State.JS.Consumer(ctx, q.State.Names.Jobs(), state.Consumer(state.Normal, 0))
		if err != nil {
			return false
		}
		batch, err := consumer.FetchNoWait(1)
		if err != nil {
			return false
		}
		for m := range batch.Messages() {
			if c, what := q.Jobs.Claim(t.Context(), m, noSlot{}, renderer{}, nil); what == consume.Claimed {
				_ = c.End(t.Context(), state.Succeeded, starting(c.Job.ID))
			}
		}
		n, err := q.State.Waiting(ctx)
		return err == nil && n == 0
	})
	for _, id := range []string{"p0", "p1", "p2", "p3", "p4", "later"} {
		assert.Equal(t, "the status of "+id, r.state(id).Status, state.Succeeded)
	}
}

// fill takes all but some bytes of a disk until free is called.
func fill(t *testing.T, dir string, left int64) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "fill")
	f := assert.Must(os.Create(path))(t)
	for size := 1 << 20; size >= 1<<10; size /= 2 {
		for {
			var disk unix.Statfs_t
			if err := unix.Statfs(dir, &disk); err != nil || int64(disk.Bavail)*disk.Bsize-int64(size) < left {
				break
			}
			if _, err := f.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
	f.Close()
	return func() { _ = os.Remove(path) }
}

// claimsAnyhow takes the next job, if that is possible.
func (r *rig) claimsAnyhow(q *store.Queue) *consume.Claim {
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Second)
	defer cancel()
	c, _ := q.Jobs.Claim(ctx, r.delivery(q), noSlot{}, renderer{}, nil)
	return c
}

// known reports whether an id has a state.
func (r *rig) known(id string) bool {
	_, err := r.Find(r.t.Context(), id, renderer{})
	return err == nil
}
