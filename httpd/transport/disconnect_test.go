package transport

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/runtime/memory"
	"pinion/tests/assert"

	"golang.org/x/sys/unix"
)

// TestWatch_Moves walks every pair of phases.
func TestWatch_Moves(t *testing.T) {
	legal := map[[2]watchPhase]bool{
		{watchArmed, watchReading}: true, {watchReading, watchArmed}: true, {watchReading, watchFiring}: true,
		{watchIdle, watchPending}: true, {watchPending, watchIdle}: true, {watchPending, watchArmed}: true,
		{watchArmed, watchIdle}: true, {watchArmed, watchFiring}: true, {watchFiring, watchFired}: true,
		{watchFired, watchIdle}: true,
	}
	assert.Moves(t, watchPhases, legal, func(from, to watchPhase) (bool, watchPhase) {
		w := Watch{phase: from}
		return w.move(to), w.phase
	})
}

// target is a Canceler that fails the test if it is called too late.
type target struct {
	removed  atomic.Bool
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
	if c.removed.Load() {
		c.wrong.Add(1)
	}
}

// pair returns a connected pair of sockets.
func pair(t testing.TB) (ours, theirs int) {
	fds := assert.Must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	return fds[0], fds[1]
}

func newTestWatcher(t *testing.T) *watcher {
	w := newWatcher(slog.New(slog.DiscardHandler), nil, 0)
	assert.NoError(t, w.start())
	t.Cleanup(w.close)
	return w
}

func TestWatcher_RemoveWaitsForCancel(t *testing.T) {
	w := newTestWatcher(t)
	ours, theirs := pair(t)
	defer unix.Close(ours)
	c := &target{wrong: new(atomic.Int32), block: make(chan struct{}), entered: make(chan struct{})}
	e := &Watch{fd: int32(ours)}
	w.add(e, c, time.Now())
	unix.Close(theirs)
	<-c.entered
	removed := make(chan bool)
	go func() { removed <- w.remove(e) }()
	close(c.block)
	if disconnected := <-removed; !disconnected || c.canceled.Load() != 1 {
		t.Errorf("disconnected %v after %d cancels, want true and 1", disconnected, c.canceled.Load())
	}
}

func TestWatcher_LateEventsAreIgnored(t *testing.T) {
	w := newTestWatcher(t)
	ours, theirs := pair(t)
	defer unix.Close(ours)
	defer unix.Close(theirs)
	e := &Watch{fd: int32(ours)}
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
	assert.False(t, w.remove(e), "remove says that the client has left")
	// Another connection under the same number: a new count would begin at gen again.
	reused := &Watch{fd: e.fd}
	w.add(reused, current, now)
	w.armOldest(now.Add(watchDelay))
	w.fire(reused.fd, gen)
	w.remove(reused)
	assert.Equal(t, "cancels by an event of an earlier watch", old.canceled.Load()+current.canceled.Load(), 0)
}

// TestWatcher_NoCancelAfterRemove makes clients disconnect at any moment while descriptors are closed and opened again
// under the same numbers.
func TestWatcher_NoCancelAfterRemove(t *testing.T) {
	w := newTestWatcher(t)
	var wrong, seen atomic.Int32
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rnd := rand.New(rand.NewPCG(uint64(worker), 1))
			for round := 0; round < 2000 || round < 200_000 && seen.Load() == 0; round++ {
				ours, theirs := pair(t)
				e := &Watch{fd: int32(ours)}
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
					c.removed.Store(true)
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
	wg.Wait()
	assert.Equal(t, "cancels late, twice or for nothing", wrong.Load(), 0)
	assert.True(t, seen.Load() != 0, "no cancel was seen at all: the test tests nothing: got %d, want anything but 0", seen.Load())
}

func TestWatcher_SweepStopsWithoutConnections(t *testing.T) {
	w := newTestWatcher(t)
	e := &Watch{fd: -1}
	w.add(e, &target{}, time.Now())
	w.remove(e)
	assert.Eventually(t, "the sweep to stop", func() bool {
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

// TestWatcher_ReadAheadIsCharged: what is read ahead counts in the memory budget until it is taken, and without room
// nothing is read.
func TestWatcher_ReadAheadIsCharged(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	assert.NoError(t, err)
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	_, err = unix.Write(fds[1], make([]byte, 1000))
	assert.NoError(t, err)
	budget := memory.New(0)
	w := newWatcher(slog.New(slog.DiscardHandler), budget, 8<<20)
	e := &Watch{fd: int32(fds[0])}
	limit := budget.Stats().Limit
	assert.TrueNow(t, budget.Take(limit, 1), "an empty budget has no room")
	if n, full, open := w.readAhead(e); n != 0 || !full || !open {
		t.Errorf("without room: %d bytes, full %v, open %v, want 0, true and true", n, full, open)
	}
	budget.Free(limit)
	n, full, open := w.readAhead(e)
	if used := budget.Stats().Used; n != 1000 || full || !open || used != 1000 {
		t.Errorf("%d bytes, full %v, open %v; %d bytes are charged, want 1000, false, true and 1000", n, full, open, used)
	}
	w.readAheadBytes += n // as fire does
	if got := w.take(e, make([]byte, 600)); got != 600 || budget.Stats().Used != 400 {
		t.Errorf("%d bytes are taken, %d are charged, want 600 and 400", got, budget.Stats().Used)
	}
	w.dropAhead(e, len(e.unread))
	used := budget.Stats().Used
	assert.True(t, used == 0 && w.readAheadBytes == 0 && e.unread == nil,
		"%d bytes are charged, %d counted, %d kept, want used 0, readAheadBytes 0 and unread nil", used, w.readAheadBytes, len(e.unread))
}
