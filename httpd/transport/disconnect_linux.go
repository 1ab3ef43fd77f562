package transport

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"pinion/runtime/memory"
	"pinion/runtime/moves"
)

// watchPhase is the state of the watch of one connection.
type watchPhase uint8

const (
	watchIdle    watchPhase = iota // no request in flight
	watchPending                   // in the list, younger than watchDelay; most requests end here
	watchArmed                     // in the epoll set
	watchReading                   // bytes that follow the request are being read ahead
	watchFiring                    // the client has disconnected; its prediction is being canceled
	watchFired                     // canceled
	watchPhases
)

// watchMoves is the table of legal moves.
var watchMoves = moves.Table[watchPhase]{
	watchIdle:    1 << watchPending,
	watchPending: 1<<watchIdle | 1<<watchArmed,
	watchArmed:   1<<watchIdle | 1<<watchReading | 1<<watchFiring,
	watchReading: 1<<watchArmed | 1<<watchFiring,
	watchFiring:  1 << watchFired,
	watchFired:   1 << watchIdle,
}

// watchDelay is the age at which a request is watched. To add a descriptor to an epoll set and remove it costs two
// system calls, as much as a whole quick prediction. A prediction that is shorter than this may as well finish.
const watchDelay = 20 * time.Millisecond

// Canceler is what a watch cancels.
type Canceler interface{ Cancel() }

// Watch is one connection's entry in a watcher, a part of its conn. watcher.mu guards all fields except unread, and fd,
// which never changes.
type Watch struct {
	fd         int32
	phase      watchPhase
	gen        int32  // the generation of this arming
	full       bool   // no room to read further ahead
	unread     []byte // bytes read ahead; owned by the watcher while watchReading, else by the connection
	target     Canceler
	since      time.Time
	prev, next *Watch
	feed       *feed // reads the rest of the request; nil means nothing does
}

func (w *Watch) move(to watchPhase) bool {
	if !watchMoves.Allows(w.phase, to) {
		return false
	}
	w.phase = to
	return true
}

// watcher cancels predictions whose clients have disconnected. A request adds its connection to a list and removes it
// again: two short critical sections, no system call, no allocation. While requests come, a sweep moves those older
// than watchDelay into an epoll set, where the kernel reports a client that closes its side. The epoll descriptor
// itself waits in Go's poller, so an idle watcher costs nothing.
type watcher struct {
	log *slog.Logger

	mu             sync.Mutex
	fired          *sync.Cond // a watch left watchFiring
	oldest         *Watch     // the list of pending watches, by age
	youngest       *Watch
	armed          map[int32]*Watch // by descriptor
	gen            int32            // counts the armings, so that a late event can be recognized
	timer          *time.Timer
	ticking        bool           // the timer runs
	came           bool           // a watch was added since the last sweep
	readAheadBytes int            // bytes read ahead and not yet taken
	maxEach        int            // see Options.ReadAhead
	budget         *memory.Budget // nil means no bound
	buf            []byte         // only run uses it
	epoll          epoll
}

func newWatcher(log *slog.Logger, budget *memory.Budget, readAhead int) *watcher {
	w := &watcher{log: log, armed: make(map[int32]*Watch), epoll: epoll{fd: -1}, maxEach: readAhead, budget: budget}
	w.fired = sync.NewCond(&w.mu)
	w.timer = time.AfterFunc(time.Hour, w.sweep)
	w.timer.Stop()
	return w
}

// start makes the epoll set and starts the goroutine that reads it. Only the first call has an effect.
func (w *watcher) start() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.epoll.start(w.run); err != nil {
		return fmt.Errorf("make the epoll set that watches clients: %w", err)
	}
	return nil
}

// close ends the goroutine and all watches.
func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.epoll.close()
}

// add begins to watch e's connection on behalf of p; now is when its request arrived.
func (w *watcher) add(e *Watch, p Canceler, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !e.move(watchPending) {
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
		w.timer.Reset(watchDelay)
	}
}

// Watch cancels target when the client disconnects, until Unwatch is called; nil means the connection cannot be
// watched.
func (t *Transport) Watch(ctx *fasthttp.RequestCtx, target Canceler) *Watch {
	c, ok := ctx.Conn().(*Conn)
	if !ok || c.fd < 0 {
		return nil
	}
	if c.watch.feed != nil {
		c.watch.feed.start(target)
		return &c.watch
	}
	t.watcher.add(&c.watch, target, ctx.Time())
	return &c.watch
}

// Unwatch ends a watch, unless it is nil. When it returns, its target is canceled already or never will be. It reports
// whether the client was found to have disconnected.
func (t *Transport) Unwatch(w *Watch) (disconnected bool) {
	if w != nil && w.feed != nil {
		w.feed.stop()
		return false
	}
	return t.watcher.remove(w)
}

// remove ends the watch of e, unless it is nil. When it returns, its target is canceled already or never will be, and
// e's descriptor may be closed. It reports whether the client was found to have disconnected.
func (w *watcher) remove(e *Watch) (disconnected bool) {
	if e == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for e.phase == watchFiring || e.phase == watchReading {
		w.fired.Wait()
	}
	switch e.phase {
	case watchPending:
		w.unlink(e)
	case watchArmed:
		delete(w.armed, e.fd)
		w.disarm(e)
	case watchFired:
		disconnected = true
		w.disarm(e)
	}
	e.move(watchIdle)
	e.target, e.full = nil, false
	return disconnected
}

func (w *watcher) unlink(e *Watch) {
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

// sweep arms the watches that are old enough, and sets its timer again while there are requests. Only one runs at a
// time, because only sweep and the first add after its end set the timer.
func (w *watcher) sweep() {
	now := time.Now()
	for w.armOldest(now) {
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// It stops only after an idle round: under a steady load of quick requests the list is mostly empty, and to restart
	// the timer costs more than to let it run.
	if w.oldest == nil && !w.came {
		w.ticking = false
		return
	}
	w.came = false
	w.timer.Reset(watchDelay)
}

// armOldest arms one watch that is old enough, and reports whether there may be another. It releases the lock between
// two, because requests need it.
func (w *watcher) armOldest(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.oldest
	if e == nil || now.Sub(e.since) < watchDelay {
		return false
	}
	w.unlink(e)
	e.move(watchArmed)
	w.gen++
	e.gen = w.gen
	if w.epoll.fd < 0 {
		return true // closed
	}
	w.armed[e.fd] = e
	w.arm(e, unix.EPOLL_CTL_ADD)
	return true
}

// arm adds e to the epoll set, or re-arms it.
func (w *watcher) arm(e *Watch, how int) {
	if w.epoll.fd < 0 {
		return
	}
	// EPOLLHUP and EPOLLERR are always reported.
	ev := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: e.fd, Pad: e.gen}
	if !e.full {
		ev.Events |= unix.EPOLLIN
	}
	if err := unix.EpollCtl(w.epoll.fd, how, int(e.fd), &ev); err != nil {
		delete(w.armed, e.fd)
		w.log.Warn("cannot watch a client: its disconnect will not cancel its prediction", "error", err)
	}
}

func (w *watcher) disarm(e *Watch) {
	if w.epoll.fd >= 0 {
		// An error means that it is not in the set.
		_ = unix.EpollCtl(w.epoll.fd, unix.EPOLL_CTL_DEL, int(e.fd), nil)
	}
}

// run handles events until the set is closed.
func (w *watcher) run(ep *os.File) {
	if err := readEpoll(ep, w.fire); err != nil {
		w.log.Error("cannot watch clients: a disconnect no longer cancels predictions", "error", err)
	}
}

// fire handles an event: it reads ahead, and cancels the prediction if the client has disconnected. It ignores an event
// of an older generation, whose descriptor may by now belong to another request or connection.
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
		w.readAheadBytes += n
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

	target.Cancel() // without the lock, because it may take other locks

	w.mu.Lock()
	e.move(watchFired)
	w.fired.Broadcast()
	w.mu.Unlock()
}
