package httpd

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/runtime/memory"
	"pinion/runtime/moves/movestest"
	"pinion/runtime/predict"
	"pinion/tests/await"
)

// armedNow counts the connections in the epoll set.
func (s *site) armedNow() int {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	return len(s.watcher.armed)
}

// untilArmed waits until n requests are watched by the kernel.
func (s *site) untilArmed(t *testing.T, n int) {
	t.Helper()
	await.Eventually(t, fmt.Sprintf("%d armed watches", n), func() bool { return s.armedNow() == n })
}

// TestWatchMoves walks every pair of phases.
func TestWatchMoves(t *testing.T) {
	legal := map[[2]watchPhase]bool{
		{watchArmed, watchReading}: true, {watchReading, watchArmed}: true, {watchReading, watchFiring}: true,
		{watchIdle, watchPending}: true, {watchPending, watchIdle}: true, {watchPending, watchArmed}: true,
		{watchArmed, watchIdle}: true, {watchArmed, watchFiring}: true, {watchFiring, watchFired}: true,
		{watchFired, watchIdle}: true,
	}
	movestest.Walk(t, watchPhases, legal, func(from, to watchPhase) (bool, watchPhase) {
		w := watch{phase: from}
		return w.move(to), w.phase
	})
}

func TestLeavingCancels(t *testing.T) {
	for name, leave := range map[string]func(c *client){
		"close": func(c *client) { c.Close() },
		"half":  func(c *client) { c.Conn.(*net.TCPConn).CloseWrite() },
		"reset": func(c *client) { c.Conn.(*net.TCPConn).SetLinger(0); c.Close() },
		"close behind another request": func(c *client) {
			c.post(`{"id":"never read"}`)
			c.Close()
		},
		// More than the socket's buffers hold: the end of the connection waits behind it.
		"close behind much": func(c *client) {
			c.send(strings.Repeat("x", 3<<20))
			c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.hold = true
			s := serve(t, f, Options{})
			c := s.dial(t)
			c.post(`{"id":"left"}`)
			wait(t, f.started, "the prediction")
			leave(c)
			if id := wait(t, f.canceled, "the cancel"); id != "left" {
				t.Errorf("canceled %q", id)
			}
			wait(t, f.released, "the release")
		})
	}
}

func TestDisconnect_LeavingUnixSocketCancels(t *testing.T) {
	ln, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	f := newFake()
	f.hold = true
	serveOn(t, f, Options{}, ln)
	c, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Write([]byte(postRequest(`{"id":"left"}`)))
	wait(t, f.started, "the prediction")
	c.Close()
	wait(t, f.canceled, "the cancel")
}

func TestStayingDoesNotCancel(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{})
	stays, talks, leaves := s.dial(t), s.dial(t), s.dial(t)
	byID := map[string]*predict.Prediction{}
	for id, c := range map[string]*client{"stays": stays, "talks": talks, "leaves": leaves} {
		c.post(`{"id":"` + id + `"}`)
		byID[id] = wait(t, f.started, id)
	}
	s.untilArmed(t, 3)
	talks.post(`{"id":"behind"}`) // data on a watched connection is the next request
	leaves.Close()
	if id := wait(t, f.canceled, "the cancel"); id != "leaves" {
		t.Fatalf("canceled %q", id)
	}
	f.finish(byID["stays"])
	f.finish(byID["talks"])
	if _, body := stays.want(200); !strings.Contains(body, "succeeded") {
		t.Error(body)
	}
	// Behind comes the pipelined request, on the same connection.
	f.finish(wait(t, f.started, "the pipelined prediction"))
	for range 2 {
		if _, body := talks.want(200); !strings.Contains(body, "succeeded") {
			t.Error(body)
		}
	}
	if n := len(f.canceled); n != 0 {
		t.Errorf("%d others were canceled", n)
	}
}

func TestDisconnect_WatchFollowsConnection(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{})
	c := s.dial(t)
	for i := range 3 { // each is armed, and ends
		c.post(fmt.Sprintf(`{"id":"stays-%d"}`, i))
		p := wait(t, f.started, "the prediction")
		s.untilArmed(t, 1)
		f.finish(p)
		c.want(200)
		s.untilArmed(t, 0)
	}
	c.post(`{"id":"left"}`)
	wait(t, f.started, "the prediction")
	c.Close()
	if id := wait(t, f.canceled, "the cancel"); id != "left" {
		t.Errorf("canceled %q", id)
	}
}

func TestDisconnect_ThousandConnections(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < 2200 {
		t.Skipf("needs 2200 descriptors, may have %d", limit.Cur)
	}
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{})
	const n = 1000
	clients := make(map[string]*client, n)
	running := make(map[string]*predict.Prediction, n)
	for i := range n {
		id := fmt.Sprintf("p%d", i)
		clients[id] = s.dial(t)
		clients[id].post(`{"id":"` + id + `"}`)
	}
	for range n {
		p := wait(t, f.started, "a prediction")
		running[p.ID()] = p
	}
	s.untilArmed(t, n)
	leaves := func(id string) bool { return id[len(id)-1]%2 == 0 }
	for id, c := range clients {
		if leaves(id) {
			c.Close()
		}
	}
	for range n / 2 {
		id := wait(t, f.canceled, "a cancel")
		if !leaves(id) {
			t.Fatalf("%s was canceled, and its client stayed", id)
		}
		delete(running, id)
	}
	for id, p := range running {
		f.finish(p)
		if _, body := clients[id].want(200); !strings.Contains(body, `"id":"`+id+`","status":"succeeded"`) {
			t.Fatalf("%s: %s", id, body)
		}
	}
	if extra := len(f.canceled); extra != 0 {
		t.Errorf("%d more were canceled", extra)
	}
	s.untilArmed(t, 0)
}

// target is a canceler that knows when it must not be called any more.
type target struct {
	over     atomic.Bool
	canceled atomic.Int32
	wrong    *atomic.Int32
	block    chan struct{}
	entered  chan struct{}
}

func (c *target) Cancel() {
	if c.entered != nil {
		close(c.entered)
		<-c.block
	}
	c.canceled.Add(1)
	if c.over.Load() {
		c.wrong.Add(1)
	}
}

// pair is a connected pair of sockets.
func pair(t testing.TB) (ours, theirs int) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fds[0], fds[1]
}

func newTestWatcher(t *testing.T) *watcher {
	w := newWatcher(slog.New(slog.DiscardHandler), nil)
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

func TestDisconnect_RemoveWaitsForCancel(t *testing.T) {
	w := newTestWatcher(t)
	ours, theirs := pair(t)
	defer unix.Close(ours)
	c := &target{wrong: new(atomic.Int32), block: make(chan struct{}), entered: make(chan struct{})}
	e := &watch{fd: int32(ours)}
	w.add(e, c, time.Now())
	unix.Close(theirs)
	wait(t, c.entered, "the cancel")
	removed := make(chan bool)
	go func() { removed <- w.remove(e) }()
	close(c.block)
	if disconnected := wait(t, removed, "remove"); !disconnected || c.canceled.Load() != 1 {
		t.Errorf("disconnected %v after %d cancels", disconnected, c.canceled.Load())
	}
}

func TestLateEventsMeanNothing(t *testing.T) {
	w := newTestWatcher(t)
	ours, theirs := pair(t)
	defer unix.Close(ours)
	defer unix.Close(theirs)
	e := &watch{fd: int32(ours)}
	old := &target{wrong: new(atomic.Int32)}
	now := time.Now()
	w.add(e, old, now)
	w.armOldest(now.Add(watchDelay))
	gen := e.gen
	w.remove(e)
	w.fire(e.fd, gen) // there is no watch
	current := &target{wrong: new(atomic.Int32)}
	w.add(e, current, now)
	w.fire(e.fd, gen) // the next request is young
	w.armOldest(now.Add(watchDelay))
	w.fire(e.fd, gen) // and armed
	if w.remove(e) {
		t.Error("remove says that the client has left")
	}
	// Another connection under the same number: a new count would begin at gen again.
	reused := &watch{fd: e.fd}
	w.add(reused, current, now)
	w.armOldest(now.Add(watchDelay))
	w.fire(reused.fd, gen)
	w.remove(reused)
	if old.canceled.Load()+current.canceled.Load() != 0 {
		t.Error("an event of an earlier watch canceled")
	}
}

// TestNoCancelAfterRemove lets clients leave at any moment while descriptors are closed and opened
// again under the same numbers.
func TestNoCancelAfterRemove(t *testing.T) {
	w := newTestWatcher(t)
	var wrong, seen atomic.Int32
	var all sync.WaitGroup
	for worker := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			rnd := rand.New(rand.NewPCG(uint64(worker), 1))
			for round := 0; round < 2000 || round < 200_000 && seen.Load() == 0; round++ {
				ours, theirs := pair(t)
				e := &watch{fd: int32(ours)}
				var targets []*target
				leave := rnd.IntN(6)
				for request := range 3 {
					c := &target{wrong: &wrong}
					targets = append(targets, c)
					w.add(e, c, time.Time{}) // as old as can be
					for range rnd.IntN(3) {
						w.armOldest(time.Now())
					}
					if request == leave {
						unix.Close(theirs)
					}
					if disconnected := w.remove(e); disconnected != (c.canceled.Load() == 1) {
						wrong.Add(1)
					} else if disconnected {
						seen.Add(1)
					}
					c.over.Store(true)
				}
				if leave >= 3 {
					unix.Close(theirs)
				}
				unix.Close(ours)
				for i, c := range targets {
					if n := c.canceled.Load(); n > 1 || n == 1 && i < leave {
						wrong.Add(1)
					}
				}
			}
		}()
	}
	all.Wait()
	if wrong.Load() != 0 {
		t.Errorf("%d cancels came late, twice or for nothing", wrong.Load())
	}
	if seen.Load() == 0 {
		t.Error("no cancel was seen at all: the test tests nothing")
	}
}

func TestSweepStopsWithoutConnections(t *testing.T) {
	w := newTestWatcher(t)
	e := &watch{fd: -1}
	w.add(e, &target{}, time.Now())
	w.remove(e)
	await.Eventually(t, "the sweep to stop", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return !w.ticking
	})
	w.add(e, &target{}, time.Now())
	if w.mu.Lock(); !w.ticking {
		t.Error("the sweep did not start again")
	}
	w.mu.Unlock()
	w.remove(e)
}

// aheadNow is how much was read ahead and not taken.
func (s *site) aheadNow() int {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	return s.watcher.ahead
}

// TestWhatIsReadAheadIsServed: requests that come behind one that runs are answered in their turn, within the bounds of
// reading ahead and beyond them, and nothing of them is kept when the connection is gone.
func TestWhatIsReadAheadIsServed(t *testing.T) {
	big := `{"id":"second","input":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`
	for _, most := range []int{mostAhead, 1 << 16, 10, 0} {
		f := newFake()
		f.hold = true
		s := serve(t, f, Options{})
		s.watcher.mostEach = most
		c := s.dial(t)
		c.post(`{"id":"first"}`)
		first := wait(t, f.started, "the first prediction")
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			io.WriteString(c.Conn, postRequest(big)+postRequest(`{"id":"third"}`)) // an answer that is missing fails the test
		}()
		await.Eventually(t, "the bytes behind it are read ahead", func() bool { return s.aheadNow() >= min(most, len(big)) })
		f.finish(first)
		for _, id := range []string{"first", "second", "third"} {
			if id != "first" {
				p := wait(t, f.started, id)
				if id == "second" && len(p.Request.Input) < 1<<20 {
					t.Errorf("its input has %d bytes", len(p.Request.Input))
				}
				f.finish(p)
			}
			if _, body := c.want(200); !strings.Contains(body, id) {
				t.Errorf("the answer to %s is %s", id, body)
			}
		}
		wait(t, sent, "the client's writing")
		// Bytes that are never taken are dropped.
		c.post(`{"id":"fourth"}`)
		p := wait(t, f.started, "the fourth prediction")
		c.send("Connection: close, in a way that is no request\n")
		await.Eventually(t, "the rubbish is read ahead", func() bool { return s.aheadNow() > 0 || most == 0 })
		f.finish(p)
		c.want(200)
		c.want(400)
		c.ended()
		await.Eventually(t, "nothing is kept", func() bool { return s.aheadNow() == 0 })
	}
}

// TestReadingAheadIsCharged: what is read ahead counts in the memory budget until it is taken, and without room nothing
// is read.
func TestReadingAheadIsCharged(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	if _, err := unix.Write(fds[1], make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	budget := memory.New(0)
	w := newWatcher(slog.New(slog.DiscardHandler), budget)
	e := &watch{fd: int32(fds[0])}
	all := budget.Stats().Limit
	if !budget.Take(all, 1) {
		t.Fatal("an empty budget has no room")
	}
	if n, full, open := w.readAhead(e); n != 0 || !full || !open {
		t.Errorf("without room: %d bytes, full %v, open %v", n, full, open)
	}
	budget.Free(all)
	n, full, open := w.readAhead(e)
	if used := budget.Stats().Used; n != 1000 || full || !open || used != 1000 {
		t.Errorf("%d bytes, full %v, open %v; %d bytes are charged", n, full, open, used)
	}
	w.ahead += n // as fire does
	if got := w.take(e, make([]byte, 600)); got != 600 || budget.Stats().Used != 400 {
		t.Errorf("%d bytes are taken, %d are charged", got, budget.Stats().Used)
	}
	w.dropAhead(e, len(e.ahead))
	if used := budget.Stats().Used; used != 0 || w.ahead != 0 || e.ahead != nil {
		t.Errorf("%d bytes are charged, %d counted, %d kept", used, w.ahead, len(e.ahead))
	}
}
