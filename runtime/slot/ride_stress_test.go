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
	"pinion/tests/await"
)

// ridden is what workers did with a call.
type ridden struct {
	sizes []int // of the batches in which their functions had it
	died  int   // so many of them ended with the worker
}

// gale is a storm for rides.
type gale struct {
	t    *testing.T
	pool *Pool
	b    *Batch
	stop chan struct{}

	mu   sync.Mutex
	rode map[string]*ridden
}

// TestGale: every call ends once and with its own answer, no function has it twice but alone after a death, keys
// do not mix, and no batch is too large.
func TestGale(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		t.Run(fmt.Sprintf("prepare=%v", prepare), func(t *testing.T) {
			await.NoLeak(t)
			g := &gale{
				t: t, stop: make(chan struct{}), rode: map[string]*ridden{},
				pool: NewPool(Options{Queue: 20, QueueTimeout: 50 * time.Millisecond, CancelGrace: 5 * time.Millisecond}),
				b:    &Batch{Options: batch.Options{MaxSize: 4}, Prepare: prepare, Isolate: true},
			}
			var workers, clients sync.WaitGroup
			for i := range 3 {
				workers.Go(func() { g.employ(uint64(i)) })
			}
			var mu sync.Mutex
			ends := map[string]int{}
			for i := range 24 {
				clients.Go(func() {
					r := rand.New(rand.NewPCG(7, uint64(i)))
					for n := range 120 {
						end := g.client(fmt.Sprintf("k%d/%d-%d", r.IntN(3), i, n), r)
						mu.Lock()
						ends[end]++
						mu.Unlock()
					}
				})
			}
			over := make(chan struct{})
			go func() { clients.Wait(); close(over) }()
			select {
			case <-over:
			case <-time.After(await.Patience):
				t.Fatalf("a call was forgotten\n%s", await.Stacks())
			}
			close(g.stop)
			workers.Wait()
			empty(t, g.pool)
			t.Log(ends)
			died := 0
			for _, x := range g.rode {
				died += x.died
			}
			if ends["succeeded"] == 0 || ends["canceled"] == 0 || died == 0 {
				t.Errorf("the weather was too good: %v", ends)
			}
		})
	}
}

func (g *gale) client(name string, r *rand.Rand) (end string) {
	for g.pool.Admit() != nil {
		time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
	}
	c := NewCall(name, []byte(`{"name":"`+name+`"}`), nil)
	c.Key, _, _ = strings.Cut(name, "/")
	asked := r.IntN(4) == 0
	if asked {
		giveUp := time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, func() { g.pool.Cancel(c) })
		defer giveUp.Stop()
	}
	if r.IntN(8) == 0 {
		c.Deadline = time.Now().Add(time.Duration(r.IntN(5000)) * time.Microsecond)
	}
	g.pool.Submit(c)
	c.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	rode := ridden{}
	if x := g.rode[name]; x != nil {
		rode = *x
	}
	if n := len(rode.sizes); n > 2 || n == 2 && (rode.died == 0 || rode.sizes[0] == 1 || rode.sizes[1] != 1) {
		g.t.Errorf("%s rode in batches of %v, of which %d died", name, rode.sizes, rode.died)
	}
	switch err := c.Result.Err; {
	case err == nil && c.Result.Kind == ipc.KindSucceeded:
		if string(c.Result.Body) != string(body(name)) || len(rode.sizes) == 0 {
			g.t.Errorf("%s: rode %v, and was answered with %.100s", name, rode.sizes, c.Result.Body)
		}
		return "succeeded"
	case err == nil && c.Result.Kind == ipc.KindCanceled, errors.Is(err, ErrCanceled):
		if !asked {
			g.t.Errorf("%s was canceled, and nobody asked for it", name)
		}
		return "canceled"
	case errors.Is(err, ErrWorker):
		if n := len(rode.sizes); n == 0 || rode.sizes[n-1] != 1 {
			g.t.Errorf("%s: %v, and it rode in batches of %v", name, err, rode.sizes)
		}
		return "lost"
	case errors.Is(err, predict.ErrQueueTimeout):
		if len(rode.sizes) > rode.died {
			g.t.Errorf("%s: %v, and it rode in batches of %v", name, err, rode.sizes)
		}
		return "late"
	}
	g.t.Errorf("%s ended with kind %d, %v", name, c.Result.Kind, c.Result.Err)
	return "strange"
}

// employ runs workers, one after another: they die, or are retired.
func (g *gale) employ(seed uint64) {
	for n := uint64(0); ; n++ {
		w := prepareWorker(g.t, g.pool, 1)
		w.batch = g.b
		dead := make(chan struct{})
		var once sync.Once
		die := func() { once.Do(func() { close(dead) }) }
		w.onKill = die
		w.attach()
		r := rand.New(rand.NewPCG(seed, n))
		retire := time.Duration(5+r.IntN(50)) * time.Millisecond
		h := &horse{gale: g, line: w.lines[0], r: r, held: map[uint64]request{}, die: die}
		served := w.serve(h.act)
		stopped := false
		select {
		case <-dead:
		case <-time.After(retire):
			select {
			case <-g.pool.Retire(w.slots):
			case <-dead:
			}
		case <-g.stop:
			stopped = true
		}
		w.hangUp(served)
		w.bury("died")
		if stopped {
			return
		}
	}
}

// horse is what a worker does; one goroutine is all of it.
type horse struct {
	*gale
	line *line
	r    *rand.Rand
	held map[uint64]request
	die  func()
	dead bool
}

func (h *horse) send(kind ipc.Kind, id uint64, body []byte) {
	_ = h.line.send(kind, id, time.Millisecond, body) // fails where the front has closed the slot
}

func (h *horse) answer(kind ipc.Kind, id uint64) {
	it, ok := h.held[id]
	if !ok {
		return // it has its answer
	}
	delete(h.held, id)
	h.send(kind, id, it.body)
}

func (h *horse) act(_ *line, f request) {
	switch {
	case h.dead:
	case f.flags&ipc.FlagHeld != 0:
		h.held[f.id] = f
		if h.b.Prepare {
			h.send(ipc.KindPrepared, f.id, nil)
		}
	case f.kind == ipc.KindDrop:
		for _, id := range idsOf(f) {
			h.answer(ipc.KindCanceled, id)
		}
	case f.kind == ipc.KindBatch && h.line.claim(f.id):
		h.run(f)
	case f.kind == ipc.KindBatch:
		for _, id := range idsOf(f) {
			h.answer(ipc.KindCanceled, id)
		}
	}
}

// run is a batch, from its claim to its answers, or to the worker's death.
func (h *horse) run(f request) {
	ids := idsOf(f)
	var names []string
	for _, id := range ids {
		if it, ok := h.held[id]; ok {
			names = append(names, nameOf(it))
		}
	}
	dies := h.r.IntN(12) == 0
	h.mu.Lock()
	for _, name := range names {
		if len(ids) > h.b.MaxSize || name[:2] != names[0][:2] {
			h.t.Errorf("a batch of %q", names)
		}
		x := h.rode[name]
		if x == nil {
			x = &ridden{}
			h.rode[name] = x
		}
		x.sizes = append(x.sizes, len(ids))
		if dies {
			x.died++
		}
	}
	h.mu.Unlock()
	kind := ipc.KindSucceeded
	for range h.r.IntN(10) {
		time.Sleep(100 * time.Microsecond)
		if h.line.canceled(f.id) {
			kind = ipc.KindCanceled
			break
		}
	}
	if dies && h.r.IntN(2) == 0 {
		h.fall()
		return
	}
	h.line.word(atRunning).Store(0)
	h.send(ipc.KindBatchDone, f.id, []byte(`{"runs":1,"size":1,"failed":false}`))
	for i, id := range ids {
		if dies && i >= len(ids)/2 {
			h.fall()
			return
		}
		h.answer(kind, id)
	}
}

func (h *horse) fall() {
	h.dead = true
	h.die()
}
