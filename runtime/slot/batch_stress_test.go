package slot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// batchStress is stressTest for batches.
type batchStress struct {
	t    *testing.T
	pool *Pool
	b    *BatchOptions
	stop chan struct{}

	mu      sync.Mutex
	records map[string]*batchRecord // by name of the call
}

// batchRecord is what workers did with a call. A worker's end counts if it had the call and did not answer.
type batchRecord struct {
	sizes    []int // of the batches in which their functions had it
	died     int   // of those, how many ended with their worker
	itemOnly int   // ends of workers that had it in no batch
}

// TestBatchStress_EndsOnce: every call ends once and with its own answer; no function has it twice, but alone after a
// worker's death; keys do not mix; no batch is too large.
func TestBatchStress_EndsOnce(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		t.Run(fmt.Sprintf("prepare=%v", prepare), func(t *testing.T) {
			assert.NoLeak(t)
			s := &batchStress{
				t: t, stop: make(chan struct{}), records: map[string]*batchRecord{},
				pool: NewPool(Options{Queue: 20, QueueTimeout: 50 * time.Millisecond, CancelGrace: 5 * time.Millisecond}),
				b:    &BatchOptions{Options: batch.Options{MaxSize: 4}, Prepare: prepare, Isolate: true},
			}
			var workers, clients sync.WaitGroup
			for i := range 3 {
				workers.Go(func() { s.runWorkers(uint64(i)) })
			}
			var mu sync.Mutex
			ends := map[string]int{}
			for i := range 24 {
				clients.Go(func() {
					r := rand.New(rand.NewPCG(7, uint64(i)))
					for n := range 120 {
						end := s.client(fmt.Sprintf("k%d/%d-%d", r.IntN(3), i, n), r)
						mu.Lock()
						ends[end]++
						mu.Unlock()
					}
				})
			}
			done := make(chan struct{})
			go func() { clients.Wait(); close(done) }()
			select {
			case <-done:
			case <-time.After(assert.Timeout):
				t.Fatalf("a call runs after %s, want its end\n%s", assert.Timeout, assert.Stacks())
			}
			close(s.stop)
			workers.Wait()
			empty(t, s.pool)
			t.Log(ends)
			died := 0
			for _, x := range s.records {
				died += x.died
			}
			assert.True(t, ends["succeeded"] != 0 && ends["canceled"] != 0 && died != 0,
				`too little went wrong: %v, want ends["succeeded"] not 0, ends["canceled"] not 0 and died not 0`, ends)
		})
	}
}

// client makes a call, perhaps cancels it, and compares its end with what the workers did.
func (s *batchStress) client(name string, r *rand.Rand) (end string) {
	for s.pool.Admit(nil) != nil {
		time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
	}
	c := NewCall(name, []byte(`{"name":"`+name+`"}`), nil)
	c.Key, _, _ = strings.Cut(name, "/")
	canceling := r.IntN(4) == 0
	if canceling {
		timer := time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, func() { s.pool.Cancel(c) })
		defer timer.Stop()
	}
	if r.IntN(8) == 0 {
		c.Deadline = time.Now().Add(time.Duration(r.IntN(5000)) * time.Microsecond)
	}
	s.pool.Submit(c)
	c.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	had := batchRecord{}
	if x := s.records[name]; x != nil {
		had = *x
	}
	n := len(had.sizes)
	if n > 2 || n == 2 && (had.died == 0 || had.sizes[0] == 1 || had.sizes[1] != 1) {
		s.t.Errorf("%s was in batches of %v, of which %d died, want n at most 2, died not 0, sizes[0] not 1 and sizes[1] 1",
			name, had.sizes, had.died)
	}
	switch err := c.Result.Err; {
	case err == nil && c.Result.Kind == ipc.KindSucceeded:
		assert.True(s.t, string(c.Result.Body) == string(body(name)) && n != 0,
			"%s: batches of %v, and answered with %.100s, want Body %q and n not 0", name, had.sizes, c.Result.Body, string(body(name)))
		return "succeeded"
	case err == nil && c.Result.Kind == ipc.KindCanceled, errors.Is(err, ErrCanceled):
		assert.True(s.t, canceling, "%s was canceled without a request", name)
		return "canceled"
	case errors.Is(err, ErrWorkerExit):
		// Its worker died of it alone: in a batch of one, or, after another worker's death, while preparing it.
		if alone := n > 0 && had.sizes[n-1] == 1; !alone && (!s.b.Prepare || had.died+had.itemOnly < 2) {
			s.t.Errorf("%s: %v, after batches of %v; %d died, and %d workers without a batch, want it to die alone", name, err,
				had.sizes, had.died, had.itemOnly)
		}
		return "worker exit"
	case errors.Is(err, predict.ErrQueueTimeout):
		assert.True(s.t, n <= had.died,
			"%s: %v, after batches of %v, of which %d died: got %d, want at most %d", name, err, had.sizes, had.died, n, had.died)
		return "late"
	}
	s.t.Errorf("%s ended with kind %d, %v, want an end that this test knows", name, c.Result.Kind, c.Result.Err)
	return "unknown"
}

// record changes what is known of a call.
func (s *batchStress) record(name string, change func(*batchRecord)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.records[name]
	if x == nil {
		x = &batchRecord{}
		s.records[name] = x
	}
	change(x)
}

// runWorkers runs workers, one after another: they die, are killed, or are retired.
func (s *batchStress) runWorkers(seed uint64) {
	for n := uint64(0); ; n++ {
		w := prepareWorker(s.t, s.pool, 1)
		w.batch = s.b
		dead := make(chan struct{})
		var once sync.Once
		die := func() { once.Do(func() { close(dead) }) }
		w.onKill = die
		w.attach()
		r := rand.New(rand.NewPCG(seed, n))
		retire := time.Duration(5+r.IntN(50)) * time.Millisecond
		h := &faultyBatchWorker{batchStress: s, end: w.ends[0], r: r, items: map[uint64]request{}, die: die}
		served := w.serve(h.act)
		stopped := false
		select {
		case <-dead:
		case <-time.After(retire):
			select {
			case <-s.pool.Retire(w.slots):
			case <-dead:
			}
		case <-s.stop:
			stopped = true
		}
		w.disconnect(served)
		for _, it := range h.items {
			s.record(nameOf(it), func(x *batchRecord) { x.itemOnly++ })
		}
		w.terminate("died")
		if stopped {
			return
		}
	}
}

// faultyBatchWorker is a worker in one goroutine.
type faultyBatchWorker struct {
	*batchStress
	end   *slotEnd
	r     *rand.Rand
	items map[uint64]request // those that it has and has not answered
	die   func()
	dead  bool
}

// send reports whether the frame was sent: the front reads all of those.
func (h *faultyBatchWorker) send(kind ipc.Kind, id uint64, body []byte) bool {
	return h.end.send(kind, id, time.Millisecond, body) == nil
}

// answer answers for an item, if that is due. It reports whether the worker can go on.
func (h *faultyBatchWorker) answer(kind ipc.Kind, id uint64) bool {
	it, due := h.items[id]
	if due && !h.send(kind, id, it.body) {
		return false
	}
	delete(h.items, id)
	return true
}

func (h *faultyBatchWorker) act(_ *slotEnd, f request) {
	switch {
	case f.flags&ipc.FlagBatchItem != 0:
		h.items[f.id] = f
		if h.b.Prepare && !h.dead {
			h.send(ipc.KindPrepared, f.id, nil)
		}
	case h.dead:
	case f.kind == ipc.KindBatch && h.end.claim(f.id):
		h.run(f)
	case f.kind == ipc.KindDrop, f.kind == ipc.KindBatch:
		for _, id := range idsOf(f) {
			h.answer(ipc.KindCanceled, id)
		}
	}
}

// run runs a batch, from its claim to its answers, or to the worker's death.
func (h *faultyBatchWorker) run(f request) {
	ids := idsOf(f)
	var first string
	for _, id := range ids {
		it, ok := h.items[id]
		if !ok {
			continue
		}
		name := nameOf(it)
		if first == "" {
			first = name
		}
		assert.True(h.t, len(ids) <= h.b.MaxSize && name[:2] == first[:2],
			"%s and %s in a batch of %d, want at most %d of one kind", first, name, len(ids), h.b.MaxSize)
		h.record(name, func(x *batchRecord) { x.sizes = append(x.sizes, len(ids)) })
	}
	defer func() { // what was not answered has died with the worker, which may be killed at any time
		for _, id := range ids {
			if it, ok := h.items[id]; ok {
				h.record(nameOf(it), func(x *batchRecord) { x.died++ })
				delete(h.items, id)
			}
		}
	}()
	kind := ipc.KindSucceeded
	for range h.r.IntN(10) {
		time.Sleep(100 * time.Microsecond)
		if h.end.canceled(f.id) {
			kind = ipc.KindCanceled
			break
		}
	}
	dies := h.r.IntN(12) == 0
	if dies && h.r.IntN(2) == 0 {
		h.crash()
		return
	}
	h.end.word(atRunning).Store(0)
	if !h.send(ipc.KindBatchDone, f.id, []byte(`{"runs":1,"size":1,"failed":false}`)) {
		return
	}
	for i, id := range ids {
		if dies && i >= len(ids)/2 {
			h.crash()
			return
		}
		if !h.answer(kind, id) {
			return
		}
	}
}

func (h *faultyBatchWorker) crash() {
	h.dead = true
	h.die()
}
