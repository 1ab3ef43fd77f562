package service

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/runtime/files"
	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
	"pinion/tests/assert"
)

// house is a service with one worker, or none.
type house struct {
	*Service
	t      *testing.T
	pool   *slot.Pool
	worker *supervise.Supervisor
	root   string // where files go
	dir    string // the model's
}

// build makes a service whose worker does what ref says; "" is none. It is taken down when the test ends, and
// then nothing may be left.
func build(t *testing.T, ref string, queue int, restart supervise.Restart) *house {
	t.Helper()
	noLeak(t)
	h := &house{t: t, root: t.TempDir(), dir: t.TempDir()}
	store := assert.Must(files.New(files.Options{Root: h.root}))(t)
	h.pool = slot.NewPool(slot.Options{Queue: queue, CancelGrace: time.Minute})
	h.Service = New(Options{
		Pool: h.pool, Files: store, Logger: slog.New(slog.DiscardHandler), Queue: queue > 0,
		Version: map[string]string{"pinion": "test"},
	})
	t.Cleanup(func() {
		if h.worker != nil {
			h.worker.Kill()
			<-h.worker.Done()
		}
		assert.ErrorIs(t, "store.Close", store.Close(), nil)
		left := remains(t, h.root)
		assert.True(t, len(left) == 0, "files are left: %q", left)
		if l := h.pool.Load(); l.InFlight != 0 || h.InFlight() != 0 {
			t.Errorf("%d calls and %d predictions are left, want 0 and 0", l.InFlight, h.InFlight())
		}
	})
	if ref != "" {
		h.supervise(ref, restart)
	}
	return h
}

// ready is build, once its worker is ready.
func ready(t *testing.T, ref string, queue int, restart supervise.Restart) *house {
	t.Helper()
	h := build(t, ref, queue, restart)
	h.until("READY")
	return h
}

// supervise gives the service a worker that does what ref says.
func (h *house) supervise(ref string, restart supervise.Restart) {
	h.t.Helper()
	exe := assert.Must(os.Executable())(h.t)
	h.worker = h.Supervise(supervise.Options{
		Exe: exe, Spec: ipc.WorkerConfig{Ref: ref, Root: h.dir}, Env: supervise.WorkerEnv(nil),
		Policy: supervise.Policy{Restart: restart},
	})
	go h.worker.Run()
}

// until waits for a status of the server, looking whenever a worker's changed.
func (h *house) until(status health.Status) {
	h.t.Helper()
	assert.Eventually(h.t, string(status), func() bool { return h.Health().Status == status })
}

// create creates a prediction.
func (h *house) create(id, input string) *predict.Prediction {
	h.t.Helper()
	p, err := h.Create(predict.Request{ID: id, Input: []byte(input)})
	assert.NoError(h.t, err, id)
	return p
}

// waiting runs a prediction; what Run returns comes out of the channel.
func waiting(p *predict.Prediction) <-chan error {
	done := make(chan error, 1)
	go func() { done <- p.Run() }()
	return done
}

// ended waits for a prediction's end.
func (h *house) ended(done <-chan error) error {
	h.t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(assert.Timeout):
		h.t.Fatalf("it runs after %s, want its end\n%s", assert.Timeout, assert.Stacks())
		return nil
	}
}

// run runs a prediction and returns its record.
func (h *house) run(id, input string) predict.Record {
	h.t.Helper()
	p := h.create(id, input)
	err := h.ended(waiting(p))
	assert.True(h.t, err == nil, "%s was refused after all: got %v, want no error", id, err)
	h.t.Cleanup(p.Release)
	return p.Record()
}

// refused checks that Create refuses, and leaves nothing behind.
func (h *house) refused(want string) {
	h.t.Helper()
	p, err := h.Create(predict.Request{Input: []byte(`{"s":"x"}`)})
	assert.TrueNow(h.t, err != nil, "got the prediction %v, want an error", p)
	assert.Contains(h.t, "the refusal", err.Error(), want)
}

// remains returns the files and folders below a folder.
func remains(t *testing.T, root string) (left []string) {
	t.Helper()
	assert.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if path != root {
			left = append(left, path)
		}
		return err
	}))
	return left
}

// begun waits until the model has a prediction that lasts.
func (h *house) begun() {
	h.t.Helper()
	assert.Eventually(h.t, "the model has it",
		func() bool { _, err := os.Stat(filepath.Join(h.dir, "begun")); return err == nil })
}

// noLeak fails the test where it ends with more descriptors, goroutines or mapped bodies than it began with.
func noLeak(t *testing.T) {
	t.Helper()
	maps := mappings(t)
	assert.NoLeak(t, func() {
		now := mappings(t)
		assert.True(t, now <= maps, "%d bodies are still mapped, %d were, want at most %d", now, maps, maps)
	})
}

func mappings(t testing.TB) int {
	t.Helper()
	maps := assert.Must(os.ReadFile("/proc/self/maps"))(t)
	return strings.Count(string(maps), "memfd:body")
}
