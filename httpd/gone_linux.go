package httpd

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pinion/runtime/memory"
)

// watchPhase is where the watch of one connection stands.
type watchPhase uint8

const (
	watchIdle    watchPhase = iota // nothing to watch for
	watchYoung                     // in the list; most requests end here
	watchArmed                     // old enough to be in the epoll set
	watchReading                   // what the client sends behind its request is being read ahead
	watchFiring                    // the client has left; its prediction is being cancelled
	watchFired                     // it was
	watchPhases
)

// watchMoves is the one table of legal moves: watchMoves[from] has a bit for each legal target.
var watchMoves = [watchPhases]uint8{
	watchIdle:    1 << watchYoung,
	watchYoung:   1<<watchIdle | 1<<watchArmed,
	watchArmed:   1<<watchIdle | 1<<watchReading | 1<<watchFiring,
	watchReading: 1<<watchArmed | 1<<watchFiring,
	watchFiring:  1 << watchFired,
	watchFired:   1 << watchIdle,
}

// youth is how long a prediction goes unwatched. Putting a descriptor into an epoll set and taking it
// out costs two system calls, as much as a quick prediction may cost in all; and nothing is lost by
// letting a prediction that takes less than this come to its end.
const youth = 20 * time.Millisecond

// canceler is what a watch acts on.
type canceler interface{ Cancel() }

// watch is one connection's place in a watcher. It lives in the conn; everything is guarded by
// watcher.mu, but ahead, and fd, which never changes.
type watch struct {
	fd         int32
	phase      watchPhase
	gen        int32  // which arming this is
	full       bool   // nothing more is read ahead
	ahead      []byte // what was read ahead; the watcher's while watchReading, else the connection's
	target     canceler
	since      time.Time
	prev, next *watch
}

func (w *watch) move(to watchPhase) bool {
	if watchMoves[w.phase]&(1<<to) == 0 {
		return false
	}
	w.phase = to
	return true
}

// watcher cancels predictions whose clients have left. A request enters its connection into a list
// and takes it out again: two short critical sections, no system call, no allocation. A sweep, every
// few hundredths of a second while requests come, moves those that have grown old into an epoll set,
// where the kernel tells when a client closes its side. The epoll descriptor itself waits in Go's
// poller, so an idle watcher costs nothing, however many wait in it.
type watcher struct {
	log *slog.Logger

	mu       sync.Mutex
	fired    *sync.Cond // a watch left watchFiring
	oldest   *watch     // the list of the young, by age
	youngest *watch
	armed    map[int32]*watch // by descriptor
	gen      int32            // counts the armings, so that a late event is told from one that counts
	timer    *time.Timer
	ticking  bool           // the timer runs
	came     bool           // somebody came since the last sweep
	epfd     int            // -1 while not started, and after close
	ahead    int            // bytes that were read ahead and not taken
	mostEach int            // see mostAhead
	budget   *memory.Budget // nil: no bound
	piece    []byte         // run's own
	ep       *os.File
}

func newWatcher(log *slog.Logger, budget *memory.Budget) *watcher {
	w := &watcher{log: log, armed: make(map[int32]*watch), epfd: -1, mostEach: mostAhead, budget: budget}
	w.fired = sync.NewCond(&w.mu)
	w.timer = time.AfterFunc(time.Hour, w.sweep)
	w.timer.Stop()
	return w
}

// start makes the epoll set and the goroutine that reads it. Only the first call does anything.
func (w *watcher) start() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.epfd >= 0 {
		return nil
	}
	fd, ep, err := newEpoll()
	if err != nil {
		return fmt.Errorf("make the epoll set that watches clients: %w", err)
	}
	w.epfd, w.ep = fd, ep
	go w.run(ep)
	return nil
}

// close ends the goroutine. What is watched goes unwatched.
func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.epfd >= 0 {
		w.epfd = -1
		w.ep.Close()
	}
}

// add begins to watch e's connection on behalf of p; now is when its request came.
func (w *watcher) add(e *watch, p canceler, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !e.move(watchYoung) {
		return
	}
	e.target, e.since = p, now
	e.prev, e.next = w.youngest, nil
	if w.youngest != nil {
		w.youngest.next = e
	} else {
		w.oldest = e
	}
	w.youngest = e
	w.came = true
	if !w.ticking {
		w.ticking = true
		w.timer.Reset(youth)
	}
}

// remove ends the watch of e. When it has returned, p is cancelled already or never will be, and e's
// descriptor may be closed. It tells whether the client was found to have left.
func (w *watcher) remove(e *watch) (gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e.phase == watchFiring || e.phase == watchReading {
		w.fired.Wait()
	}
	switch e.phase {
	case watchYoung:
		w.unlink(e)
	case watchArmed:
		delete(w.armed, e.fd)
		w.disarm(e)
	case watchFired:
		gone = true
		w.disarm(e)
	}
	e.move(watchIdle)
	e.target, e.full = nil, false
	return gone
}

func (w *watcher) unlink(e *watch) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		w.oldest = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		w.youngest = e.prev
	}
	e.prev, e.next = nil, nil
}

// sweep arms the old and decides whether to come again. It runs on the timer's goroutine, one at a
// time, because only it and the first add after its end set the timer.
func (w *watcher) sweep() {
	now := time.Now()
	for w.armOldest(now) {
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// One idle round before it stops: under a steady load of quick requests the list is empty at most
	// moments, and starting the timer costs more than letting it run.
	if w.oldest == nil && !w.came {
		w.ticking = false
		return
	}
	w.came = false
	w.timer.Reset(youth)
}

// armOldest arms one watch that is old enough, and tells whether there may be another. The lock is
// given up between two of them: the requests of the moment need it.
func (w *watcher) armOldest(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.oldest
	if e == nil || now.Sub(e.since) < youth {
		return false
	}
	w.unlink(e)
	e.move(watchArmed)
	w.gen++
	e.gen = w.gen
	if w.epfd < 0 {
		return true // closed: armed in name only
	}
	w.armed[e.fd] = e
	w.arm(e, unix.EPOLL_CTL_ADD)
	return true
}

// arm enters e in the epoll set, or enters it again.
func (w *watcher) arm(e *watch, how int) {
	if w.epfd < 0 {
		return
	}
	// EPOLLHUP and EPOLLERR come unasked.
	ev := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: e.fd, Pad: e.gen}
	if !e.full {
		ev.Events |= unix.EPOLLIN
	}
	if err := unix.EpollCtl(w.epfd, how, int(e.fd), &ev); err != nil {
		delete(w.armed, e.fd)
		w.log.Warn("cannot watch a client; its leaving will not cancel its prediction", "error", err)
	}
}

func (w *watcher) disarm(e *watch) {
	if w.epfd >= 0 {
		// An error means that it is not in the set, which is what is wanted.
		_ = unix.EpollCtl(w.epfd, unix.EPOLL_CTL_DEL, int(e.fd), nil)
	}
}

// run takes events until the set is closed.
func (w *watcher) run(ep *os.File) {
	if err := readEpoll(ep, w.fire); err != nil {
		w.log.Error("cannot watch clients any more; their leaving cancels nothing", "error", err)
	}
}

// fire cancels what the event is about, or reads ahead where the client is still there, unless its watch has ended since:
// then its number may stand for another request on the same connection, or for another connection.
func (w *watcher) fire(fd, gen int32) {
	w.mu.Lock()
	e := w.armed[fd]
	if e == nil || e.gen != gen {
		w.mu.Unlock()
		return
	}
	if !e.full && e.move(watchReading) {
		w.mu.Unlock()
		n, full, open := w.readAhead(e)
		w.mu.Lock()
		w.ahead += n
		if open {
			e.full = full
			e.move(watchArmed)
			w.arm(e, unix.EPOLL_CTL_MOD)
			w.fired.Broadcast()
			w.mu.Unlock()
			return
		}
	}
	if !e.move(watchFiring) {
		w.mu.Unlock()
		return
	}
	delete(w.armed, fd)
	target := e.target
	w.mu.Unlock()

	target.Cancel() // not under the lock: it may take the locks of others

	w.mu.Lock()
	e.move(watchFired)
	w.fired.Broadcast()
	w.mu.Unlock()
}
