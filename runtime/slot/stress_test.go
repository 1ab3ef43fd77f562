package slot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// stressTest is a pool under faults: workers that die, answers that do not come, cancels and deadlines at any time. It
// records what the workers did, and compares that with the results of the calls.
type stressTest struct {
	t    *testing.T
	pool *Pool
	stop chan struct{}

	mu    sync.Mutex
	begun map[string]int             // how often a worker began a call
	calls map[string]*cancelableCall // in flight
}

// cancelableCall is a call that may have been canceled.
type cancelableCall struct {
	*Call
	pool *Pool
	flag atomic.Bool
}

func (a *cancelableCall) cancel() {
	a.flag.Store(true)
	a.pool.Cancel(a.Call)
}

const (
	stressWorkers = 3
	stressSlots   = 2
	stressClients = 16
	stressRounds  = 250
)

// TestStress_EndsOnce: every call ends exactly once and with its own answer, and none is begun twice.
func TestStress_EndsOnce(t *testing.T) {
	assert.NoLeak(t)
	s := &stressTest{
		t:     t,
		pool:  NewPool(Options{Queue: 8, QueueTimeout: 20 * time.Millisecond, CancelGrace: 3 * time.Millisecond}),
		stop:  make(chan struct{}),
		begun: make(map[string]int),
		calls: make(map[string]*cancelableCall),
	}
	var workers sync.WaitGroup
	for i := range stressWorkers {
		workers.Go(func() { s.runWorkers(uint64(i)) })
	}
	var total tally
	for wave := range stressRounds {
		s.round(wave, &total)
	}
	close(s.stop)
	workers.Wait()
	empty(t, s.pool)
	t.Logf("%+v", total)
	for name, n := range s.begun {
		assert.Equal(t, name+" begins", n, 1)
	}
	assert.True(t, total.succeeded != 0 && total.canceled != 0 && total.workerExits != 0,
		"too little went wrong: %+v, want succeeded not 0, canceled not 0 and workerExits not 0", total)
}

// tally is how calls ended.
type tally struct{ succeeded, canceled, workerExits, late, refused int }

func (a *tally) add(b tally) {
	a.succeeded += b.succeeded
	a.canceled += b.canceled
	a.workerExits += b.workerExits
	a.late += b.late
	a.refused += b.refused
}

// round has every client make a call, and waits for all of them: no later call may be what wakes an earlier one.
func (s *stressTest) round(number int, total *tally) {
	s.t.Helper()
	var clients sync.WaitGroup
	for i := range stressClients {
		clients.Go(func() {
			var n tally
			s.client(fmt.Sprintf("%d/%d", number, i), rand.New(rand.NewPCG(uint64(number), uint64(i))), &n)
			s.mu.Lock()
			total.add(n)
			s.mu.Unlock()
		})
	}
	ended := make(chan struct{})
	go func() {
		clients.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(assert.Timeout):
		s.t.Fatalf("a call runs after %s, want its end\n%s", assert.Timeout, assert.Stacks())
	}
}

// client makes a call, and perhaps cancels it.
func (s *stressTest) client(name string, r *rand.Rand, n *tally) {
	for s.pool.Admit(nil) != nil {
		n.refused++
		time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond) // as a refused client does
	}
	input := `{"name":"` + name + `"}`
	if r.IntN(40) == 0 {
		input = fmt.Sprintf(`{"name":%q,"much":%q}`, name, make([]byte, 20<<10)) // too large for one write
	}
	c := NewCall(name, []byte(input), nil)
	a := &cancelableCall{Call: c, pool: s.pool}
	s.mu.Lock()
	s.calls[name] = a
	s.mu.Unlock()
	var timer *time.Timer
	switch r.IntN(12) {
	case 0:
		a.cancel()
	case 1, 2, 3: // at any time
		timer = time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, a.cancel)
	}
	s.pool.Submit(c)
	if r.IntN(10) == 0 {
		runtime.Gosched() // other goroutines may read its answer
	}
	c.Wait()
	if timer != nil {
		timer.Stop()
	}
	s.check(c, input, a.flag.Load(), n)
}

// check compares the result of a call with what the workers did.
func (s *stressTest) check(c *Call, input string, canceled bool, n *tally) {
	s.mu.Lock()
	begun := s.begun[c.Name]
	delete(s.calls, c.Name)
	s.mu.Unlock()
	err := c.Result.Err
	switch {
	case err == nil && c.Result.Kind == ipc.KindSucceeded:
		n.succeeded++
		want := `{"input":` + input + `}`
		assert.True(s.t, string(c.Result.Body) == want && begun == 1,
			"%s: begun %d times, and answered with %.100s, want Body %q and begun 1", c.Name, begun, c.Result.Body, want)
	case err == nil && c.Result.Kind == ipc.KindCanceled, errors.Is(err, ErrCanceled):
		n.canceled++
		assert.True(s.t, canceled, "%s was canceled without a request", c.Name)
	case errors.Is(err, ErrWorkerExit):
		n.workerExits++
		assert.True(s.t, begun == 1, "%s: %v, and it was begun %d times, want 1", c.Name, err, begun)
	case errors.Is(err, predict.ErrQueueTimeout):
		n.late++
		assert.Equal(s.t, fmt.Sprintf("%s: %v, and it was begun", c.Name, err), begun, 0)
	default:
		s.t.Errorf("%s ended with kind %d, %v, want an end that this test knows", c.Name, c.Result.Kind, err)
	}
	if c.Result.Release != nil {
		c.Result.Release()
	}
}

// runWorkers runs workers, one after another, as supervise does.
func (s *stressTest) runWorkers(seed uint64) {
	for n := uint64(0); ; n++ {
		w := prepareWorker(s.t, s.pool, stressSlots)
		dies := make(chan struct{})
		var once sync.Once
		die := func() { once.Do(func() { close(dies) }) }
		w.onKill = die
		w.attach()
		served := w.serve((&faultyWorker{stressTest: s, die: die, r: rand.New(rand.NewPCG(seed, n))}).act)
		stopped := false
		select {
		case <-dies:
		case <-s.stop:
			stopped = true
		}
		w.disconnect(served)
		w.terminate("died")
		if stopped {
			return
		}
	}
}

// faultyWorker is how a worker behaves; its slots share it.
type faultyWorker struct {
	*stressTest
	die func()

	mu sync.Mutex
	r  *rand.Rand
}

func (m *faultyWorker) roll(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.r.IntN(n)
}

func (m *faultyWorker) act(l *slotEnd, r request) {
	switch m.roll(100) {
	case 0: // before it began this one
		m.crash(l)
		return
	case 1: // the front may take it back meanwhile
		time.Sleep(time.Duration(m.roll(5000)) * time.Microsecond)
	}
	if !l.claim(r.id) {
		return
	}
	m.stressTest.mu.Lock()
	m.begun[nameOf(r)]++
	m.stressTest.mu.Unlock()
	switch k := m.roll(100); {
	case k == 0: // while the call runs
		m.crash(l)
		return
	case k == 1:
		m.ignoreCancel(l, r)
		return
	case k < 10:
		if m.runSlowly(l, r) {
			return
		}
	case k < 15:
		_ = l.send(ipc.KindLog, r.id, 0, []byte(`{"source":"stdout","data":"a word\n"}`))
	}
	l.word(atRunning).Store(0)
	_ = l.send(ipc.KindSucceeded, r.id, time.Duration(m.roll(200))*time.Microsecond, r.body)
	if m.roll(200) == 0 { // after its answer
		m.crash(l)
	}
}

// crash closes the worker's sockets, and ends it.
func (m *faultyWorker) crash(l *slotEnd) {
	for _, x := range l.w.ends {
		_ = unix.Shutdown(x.fd, unix.SHUT_RDWR)
	}
	m.die()
}

// ignoreCancel is a call that is canceled and never ends. No other call is canceled for taking long, so a call that was
// forgotten is noticed.
func (m *faultyWorker) ignoreCancel(l *slotEnd, r request) {
	m.stressTest.mu.Lock()
	a := m.calls[nameOf(r)]
	m.stressTest.mu.Unlock()
	if a != nil { // else it has ended with this worker
		a.cancel()
	}
	for {
		if _, err := l.next(); err != nil {
			return
		}
	}
}

// runSlowly runs a call that ends early if it is canceled. It reports whether it has answered then.
func (m *faultyWorker) runSlowly(l *slotEnd, r request) (answered bool) {
	for range m.roll(20) {
		time.Sleep(100 * time.Microsecond)
		if l.canceled(r.id) {
			l.word(atRunning).Store(0)
			_ = l.send(ipc.KindCanceled, r.id, time.Millisecond, []byte(`{"metrics":{}}`))
			return true
		}
	}
	return false
}

func nameOf(r request) string {
	var name string
	_, _ = fmt.Sscanf(string(r.body), `{"input":{"name":%q`, &name) // "" is then begun too often
	return name
}
