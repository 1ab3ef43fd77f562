package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// hoarder makes as much as its input asks for.
const hoarder = `
from typing import Iterator
from cog import BaseRunner, current_scope, streaming

class Runner(BaseRunner):
    @streaming
    def run(self, n: int = 1, size: int = 1, log: int = 0, metric: int = 0, error: int = 0, text: str = "") -> Iterator[str]:
        print("l" * log)
        current_scope().record_metric("m", "m" * metric)
        for _ in range(n):
            yield "x" * size
        if error:
            raise ValueError("e" * error)
`

// The memory of the scene, in bytes: the group's, and by how much the front may be larger at the end than at its start,
// beside the ended predictions that it retains.
const (
	scarce      = 256 << 20
	extraAtRest = 10 << 20
)

// TestMemory_ChaosOfMemory: large bodies, streams, logs, errors and webhooks come at once to a server in a small
// control group, some clients leave in the middle, receivers fail, workers are killed. Nothing but the worker may die
// of it; each request has an answer that the documents know; and when all is over the front is as small as it was.
func TestMemory_ChaosOfMemory(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	seed := uint64(setting(t, "PINION_CHAOS_SEED", defaultSeed))
	t.Logf("seed %d", seed)
	_, enter, ok := harness.MemoryGroup(t, scarce)
	if !ok {
		t.Skip("no control group can be made here")
	}
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "run.py"), hoarder)
	var tries sync.Map
	hooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := tries.LoadOrStore(r.URL.Path, new(atomic.Int32))
		if n.(*atomic.Int32).Add(1) < 5 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(hooks.Close)
	s := harness.Ready(t, harness.Options{
		Dir: dir, Model: "run.py:Runner", Wrap: enter,
		Args: []string{"--workers", "2", "--queue", "64", "--queue-timeout", "10m"},
	})
	s.Succeed(map[string]any{})
	before := harness.Resident(t, s.PID)
	const clients = 8
	share := setting(t, "PINION_CHAOS_FAULTS", harness.Soak(8000, 200)) / clients
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			r := source(seed, client)
			for n := range share {
				if worker := s.Worker0(); client == 0 && n%20 == 19 && worker > 0 {
					_ = syscall.Kill(worker, syscall.SIGKILL) // it may have ended meanwhile
				}
				hoard(t, s, r, fmt.Sprintf("m%d-%d", client, n), hooks.URL)
			}
		})
	}
	wg.Wait()
	s.WaitHealth("READY")
	if h := s.Health(); h.Memory.UsedBytes > h.Memory.LimitBytes {
		t.Errorf("%+v, want UsedBytes at most %d", h.Memory, h.Memory.LimitBytes)
	}
	assert.Eventually(t, "the front is as small as it was", func() bool {
		return harness.Sanitized(t) || harness.Resident(t, s.PID) < before+extraAtRest+int(s.Health().Memory.UsedBytes)
	})
}

// TestMemory_GroupAtItsLimit: another process of the server's control group takes all memory that there is, again and
// again, while clients are served. The kernel may end a worker for it; the front goes on, and each answer is right.
func TestMemory_GroupAtItsLimit(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	folder, enter, ok := harness.MemoryGroup(t, scarce)
	if !ok {
		t.Skip("no control group can be made here")
	}
	s := harness.Ready(t, harness.Options{Model: "chaos.py:Plain", Wrap: enter, Args: []string{"--queue", "100"}})
	l := beginLoad(t, s)
	l.more(5 * honest)
	l.enter("the group is full", true)
	full, end := harness.FillMemory(t, folder)
	for range 5 {
		before := full()
		assert.Eventually(t, "the group is at its limit", func() bool { return full() > before })
		l.more(5 * honest)
	}
	t.Logf("the group was at its limit %d times, the worker's last end: %q", full(), s.Health().Workers[0].LastExit)
	end()
	s.WaitHealth("READY")
	l.more(1) // what came before is answered
	l.enter("the group has room again", false)
	l.more(5 * honest)
	l.end()
	assert.Eventually(t, "the server holds what it held", func() bool {
		used, _, _ := harness.MemoryBudget(t, s)
		return used <= mostAtRest
	})
}

// hoard sends one request, and checks its answer.
func hoard(t *testing.T, s *harness.Server, r *rand.Rand, id, hooks string) {
	in := map[string]any{}
	body := map[string]any{"id": id, "input": in}
	headers := []string{"Content-Type", "application/json"}
	small := false
	switch r.IntN(8) {
	case 0:
		in["text"] = strings.Repeat("t", 1+r.IntN(16<<20))
	case 1:
		body["unread"] = strings.Repeat("t", 1+r.IntN(4<<20))
	case 2:
		in["log"], in["metric"] = r.IntN(4<<20), r.IntN(1<<20)
	case 3:
		in["error"] = 1 + r.IntN(1<<20)
	case 4:
		in["n"], in["size"] = 10, r.IntN(2<<20) // 20 MB at the most
	case 5, 6:
		in["n"], in["size"] = 300, 400
	default:
		small = true
	}
	switch r.IntN(5) {
	case 0:
		headers = append(headers, "Accept", "text/event-stream")
	case 1:
		headers = append(headers, "Prefer", "respond-async")
	case 2:
		headers = append(headers, "Accept", "application/msgpack")
	}
	if r.IntN(4) == 0 {
		body["webhook"] = hooks + "/" + id
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Error(err)
		return
	}
	ctx := context.Background()
	leaves := r.IntN(6) == 0
	if leaves {
		var leave context.CancelFunc
		ctx, leave = context.WithTimeout(ctx, time.Duration(r.IntN(50))*time.Millisecond) // a moment of its life
		defer leave()
	}
	a := s.DoContext(ctx, http.MethodPost, "/predictions", bytes.NewReader(text), headers...)
	switch {
	case a.Err != nil && leaves:
	case a.Err != nil:
		t.Errorf("%s: got %v, want no error", id, a.Err)
	case a.Code == http.StatusOK, a.Code == http.StatusAccepted, a.Code == http.StatusTooManyRequests,
		a.Code == http.StatusConflict:
	case a.Code == http.StatusServiceUnavailable &&
		(a.Header.Get("Retry-After") != "" || bytes.Contains(a.Body, []byte("worker"))) && !small:
	case a.Code == http.StatusServiceUnavailable && bytes.Contains(a.Body, []byte("worker")):
	default:
		t.Errorf("%s, %.200s: got %.300s, want it accepted, or refused for want of room", id, text, a.String())
	}
	if r.IntN(4) == 0 {
		if a := s.Do(http.MethodGet, "/predictions/"+id, nil); a.Err != nil ||
			a.Code != http.StatusOK && a.Code != http.StatusNotFound && a.Code != http.StatusServiceUnavailable {
			t.Errorf("GET of %s: %.300s: got %d, want 200 or 404 or 503", id, a.String(), a.Code)
		}
	}
}
