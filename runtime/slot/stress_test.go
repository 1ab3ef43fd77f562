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
	"pinion/tests/await"
)

// storm is a pool in bad weather: workers that die, answers that do not come, cancels and deadlines at every
// moment. What the workers did is written down, to be compared with what the callers were told.
type storm struct {
	t    *testing.T
	pool *Pool
	stop chan struct{}

	mu    sync.Mutex
	begun map[string]int    // how often a worker began a call
	calls map[string]*asked // in flight
}

// asked is a call whose end may have been asked for.
type asked struct {
	*Call
	pool *Pool
	flag atomic.Bool
}

func (a *asked) cancel() {
	a.flag.Store(true)
	a.pool.Cancel(a.Call)
}

const (
	stormWorkers = 3
	stormSlots   = 2
	stormClients = 16
	stormWaves   = 250
)

// TestStorm: every call ends exactly once and with its own answer, and none is begun twice, whatever happens.
func TestStorm(t *testing.T) {
	await.NoLeak(t)
	s := &storm{
		t:     t,
		pool:  NewPool(Options{Queue: 8, QueueTimeout: 20 * time.Millisecond, CancelGrace: 3 * time.Millisecond}),
		stop:  make(chan struct{}),
		begun: make(map[string]int),
		calls: make(map[string]*asked),
	}
	var workers sync.WaitGroup
	for i := range stormWorkers {
		workers.Go(func() { s.employ(uint64(i)) })
	}
	var total tally
	for wave := range stormWaves {
		s.wave(wave, &total)
	}
	close(s.stop)
	workers.Wait()
	empty(t, s.pool)
	t.Logf("%+v", total)
	for name, n := range s.begun {
		if n != 1 {
			t.Errorf("%s was begun %d times", name, n)
		}
	}
	if total.succeeded == 0 || total.canceled == 0 || total.lost == 0 {
		t.Errorf("the weather was too good: %+v", total)
	}
}

// tally is how calls ended.
type tally struct{ succeeded, canceled, lost, late, refused int }

func (a *tally) add(b tally) {
	a.succeeded += b.succeeded
	a.canceled += b.canceled
	a.lost += b.lost
	a.late += b.late
	a.refused += b.refused
}

// wave has every client make a call, and waits for all: no later one may be what wakes a call that was
// forgotten.
func (s *storm) wave(number int, total *tally) {
	s.t.Helper()
	var clients sync.WaitGroup
	for i := range stormClients {
		clients.Go(func() {
			var n tally
			s.client(fmt.Sprintf("%d/%d", number, i), rand.New(rand.NewPCG(uint64(number), uint64(i))), &n)
			s.mu.Lock()
			total.add(n)
			s.mu.Unlock()
		})
	}
	over := make(chan struct{})
	go func() {
		clients.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(await.Patience):
		s.t.Fatalf("a call was forgotten\n%s", await.Stacks())
	}
}

// client makes a call, and perhaps gives it up.
func (s *storm) client(name string, r *rand.Rand, n *tally) {
	for s.pool.Admit() != nil {
		n.refused++
		time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond) // as a client does that was told to
	}
	input := `{"name":"` + name + `"}`
	if r.IntN(40) == 0 {
		input = fmt.Sprintf(`{"name":%q,"much":%q}`, name, make([]byte, 20<<10)) // not at once in the socket
	}
	c := NewCall(name, []byte(input), nil)
	a := &asked{Call: c, pool: s.pool}
	s.mu.Lock()
	s.calls[name] = a
	s.mu.Unlock()
	var giveUp *time.Timer
	switch r.IntN(12) {
	case 0:
		a.cancel()
	case 1, 2, 3: // at any moment of its life
		giveUp = time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, a.cancel)
	}
	s.pool.Submit(c)
	if r.IntN(10) == 0 {
		runtime.Gosched() // others may read its answer
	}
	c.Wait()
	if giveUp != nil {
		giveUp.Stop()
	}
	s.judge(c, input, a.flag.Load(), n)
}

// judge compares what the caller was told with what the workers did.
func (s *storm) judge(c *Call, input string, asked bool, n *tally) {
	s.mu.Lock()
	begun := s.begun[c.Name]
	delete(s.calls, c.Name)
	s.mu.Unlock()
	err := c.Result.Err
	switch {
	case err == nil && c.Result.Kind == ipc.KindSucceeded:
		n.succeeded++
		if want := `{"input":` + input + `}`; string(c.Result.Body) != want || begun != 1 {
			s.t.Errorf("%s: begun %d times, and answered with %.100s", c.Name, begun, c.Result.Body)
		}
	case err == nil && c.Result.Kind == ipc.KindCanceled, errors.Is(err, ErrCanceled):
		n.canceled++
		if !asked {
			s.t.Errorf("%s was canceled, and nobody asked for it", c.Name)
		}
	case errors.Is(err, ErrWorker):
		n.lost++
		if begun != 1 {
			s.t.Errorf("%s: %v, and it was begun %d times", c.Name, err, begun)
		}
	case errors.Is(err, predict.ErrQueueTimeout):
		n.late++
		if begun != 0 {
			s.t.Errorf("%s: %v, and it was begun", c.Name, err)
		}
	default:
		s.t.Errorf("%s ended with kind %d, %v", c.Name, c.Result.Kind, err)
	}
	if c.Result.Release != nil {
		c.Result.Release()
	}
}

// employ runs workers, one after another, as supervise does.
func (s *storm) employ(seed uint64) {
	for n := uint64(0); ; n++ {
		w := prepareWorker(s.t, s.pool, stormSlots)
		dies := make(chan struct{})
		var once sync.Once
		die := func() { once.Do(func() { close(dies) }) }
		w.onKill = die
		w.attach()
		served := w.serve((&mood{storm: s, die: die, r: rand.New(rand.NewPCG(seed, n))}).act)
		stopped := false
		select {
		case <-dies:
		case <-s.stop:
			stopped = true
		}
		w.hangUp(served)
		w.bury("died")
		if stopped {
			return
		}
	}
}

// mood is how a worker behaves; its slots share it.
type mood struct {
	*storm
	die func()

	mu sync.Mutex
	r  *rand.Rand
}

func (m *mood) roll(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.r.IntN(n)
}

func (m *mood) act(l *line, r request) {
	switch m.roll(100) {
	case 0: // before it began this one
		m.fall(l)
		return
	case 1: // it lies there, and the front may think of it what it likes
		time.Sleep(time.Duration(m.roll(5000)) * time.Microsecond)
	}
	if !l.claim(r.id) {
		return
	}
	m.storm.mu.Lock()
	m.begun[nameOf(r)]++
	m.storm.mu.Unlock()
	switch k := m.roll(100); {
	case k == 0: // in the midst of it
		m.fall(l)
		return
	case k == 1:
		m.swallow(l, r)
		return
	case k < 10:
		if m.linger(l, r) {
			return
		}
	case k < 15:
		_ = l.send(ipc.KindLog, r.id, 0, []byte(`{"source":"stdout","data":"a word\n"}`))
	}
	l.word(atRunning).Store(0)
	_ = l.send(ipc.KindSucceeded, r.id, time.Duration(m.roll(200))*time.Microsecond, r.body)
	if m.roll(200) == 0 { // with its answer out
		m.fall(l)
	}
}

// fall is the worker's death: its sockets close, and whoever runs it hears of it.
func (m *mood) fall(l *line) {
	for _, x := range l.w.lines {
		_ = unix.Shutdown(x.fd, unix.SHUT_RDWR)
	}
	m.die()
}

// swallow is a call that never ends, nor hears of its cancel, which somebody asks for at last. No other
// call is cancelled for taking long: one that was forgotten would show.
func (m *mood) swallow(l *line, r request) {
	m.storm.mu.Lock()
	a := m.calls[nameOf(r)]
	m.storm.mu.Unlock()
	if a != nil { // else it has been lost with this worker
		a.cancel()
	}
	for {
		if _, err := l.next(); err != nil {
			return
		}
	}
}

// linger takes its time, and ends early where that is asked for: then it says so.
func (m *mood) linger(l *line, r request) (answered bool) {
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
	_, _ = fmt.Sscanf(string(r.body), `{"input":{"name":%q`, &name) // "" is begun too often then
	return name
}
