package slot

import (
	"errors"
	"fmt"
	"time"

	"github.com/bytedance/sonic"

	"pinion/ipc"
)

// One of the goroutines that wait at a slot reads its socket: the leader. The others, the followers,
// sleep until it wakes them. What must never be is a slot with followers and without a leader whose
// goroutine is awake or about to be: so the next leader is named by the one that leaves, and one that is
// named but finds that it has no business at the slot any more names the next in its turn.

// follow enters c among those that the leader wakes.
func (s *Slot) follow(c *Call) {
	if !c.following {
		s.followers.pushBack(c)
		c.following = true
	}
}

func (s *Slot) unfollow(c *Call) {
	if c.following {
		s.followers.remove(c)
		c.following = false
	}
}

// appoint makes c the slot's leader.
func (s *Slot) appoint(c *Call) {
	s.unfollow(c)
	s.leader, c.leads = c, s
	if c.parked {
		c.poke()
	}
}

// resign hands the slot that c leads to the next who waits there, unless it is still c's own.
func (c *Call) resign() {
	s := c.leads
	if s == nil || s == c.slot && !s.lost {
		return
	}
	s.leader, c.leads = nil, nil
	if next := s.followers.head; next != nil && !s.lost {
		s.appoint(next)
	}
}

// recall makes c leave the lead of a slot that is not its own any more.
func (s *Slot) recall(c *Call) {
	switch {
	case s.leader != c:
	case c.parked: // appointed, and not yet at it
		c.resign()
	default:
		s.conn.Interrupt()
	}
}

// lead reads the slot's socket for all who wait there, until c, its leader, has no business there any
// more. Called with the lock held, which it gives back while it reads.
func (s *Slot) lead(c *Call) {
	p := s.pool
	for c.slot == s && !s.lost {
		patience := s.patience()
		p.mu.Unlock()
		waited, err := s.conn.RecvSoon(patience, s.onFrame)
		if errors.Is(err, ipc.ErrInterrupted) {
			err = nil
		}
		if err == nil {
			err, s.fault = s.fault, nil
		}
		s.out.deliver()
		clear(s.out) // their inputs may be large, and the next delivery far away
		s.out = s.out[:0]
		for i, w := range s.woken {
			w.poke()
			s.woken[i] = nil
		}
		s.woken = s.woken[:0]

		p.mu.Lock()
		s.spun(patience, waited)
		if err != nil {
			s.lose(err)
		}
	}
}

// lose marks the slot as lost. Its calls stay until Detach knows what became of the worker. Called with
// the lock held.
func (s *Slot) lose(err error) {
	if s.lost {
		return
	}
	s.lost = true
	s.dry()
	if errors.Is(err, ipc.ErrClosed) {
		s.worker.Closed()
	} else {
		s.worker.Kill(FaultProtocol, err.Error()) // it lives, and what it says cannot be used
	}
}

// frame handles one frame from the worker. It runs in the leader, without the lock.
func (s *Slot) frame(f *ipc.Frame) {
	switch {
	case f.Kind.Ends():
		s.finish(f)
	case f.Kind == ipc.KindLogMark:
		s.mark(f)
	case f.Kind == ipc.KindLog:
		s.log(f)
	case f.Kind == ipc.KindLogPipe:
		s.worker.LogPipe(f.Descriptor(), f.Nanos != 0)
	case f.Kind == ipc.KindLogPipesEnd:
		s.worker.LogPipesEnd()
	case f.Kind == ipc.KindBatchDone:
		s.batchDone(f)
	case f.Kind == ipc.KindPrepared:
		s.prepared(f)
	case f.Kind == ipc.KindStarted, f.Kind == ipc.KindOutput, f.Kind == ipc.KindMetric:
		s.tell(f)
	default:
		s.violate("a frame of kind %d on a slot's channel", f.Kind)
	}
}

// violate notes what the worker should never have sent; the leader acts on it.
func (s *Slot) violate(format string, args ...any) {
	if s.fault == nil {
		s.fault = fmt.Errorf("%w: "+format, append([]any{ipc.ErrProtocol}, args...)...)
	}
}

// finish ends the frame's call and refills the slot.
func (s *Slot) finish(f *ipc.Frame) {
	p := s.pool
	r := Result{Kind: f.Kind, Elapsed: time.Duration(f.Nanos)}
	r.Body, r.Release = f.Own()
	s.crew.judge(s, f.ID, f.Kind, r.Body)
	p.mu.Lock()
	c := s.outstanding(f.ID)
	if c == nil {
		forgotten := s.forget(f.ID)
		p.mu.Unlock()
		if r.Release != nil {
			r.Release()
		}
		if forgotten {
			return
		}
		s.violate("an answer to %#x, which is not outstanding", f.ID) // ids are never shared
		return
	}
	rides := s.riders[f.ID] == c
	if rides && c.ride != nil && !c.ride.done { // without it nobody would be left to read of the end
		p.mu.Unlock()
		if r.Release != nil {
			r.Release()
		}
		s.violate("an answer to %#x before the end of its batch", f.ID)
		return
	}
	r.Waited = later(c.since, s.freed).Sub(c.since)
	if rides {
		r.Waited = c.waited(r.Elapsed)
	}
	p.settle(c, r)
	if c.parked { // else it is this goroutine's own, or not yet waited for
		s.woken = append(s.woken, c)
	}
	now := time.Now()
	s.served = s.served || f.Kind == ipc.KindSucceeded
	s.crew.count()
	p.meter.end(now)
	switch {
	case !rides:
		s.freed = now
		s.learn(r.Elapsed)
		s.out = s.refill(s.out)
	case s.line != nil: // there is room for another to be prepared
		s.out = p.form(s.out)
		fallthrough
	default:
		s.forget(f.ID)
	}
	p.mu.Unlock()
}

// LogPositions are how much was ever written to a worker's log pipes, and to those of the running prediction's own.
type LogPositions struct {
	Stdout    uint64 `json:"stdout"`
	Stderr    uint64 `json:"stderr"`
	OwnStdout uint64 `json:"own_stdout"`
	OwnStderr uint64 `json:"own_stderr"`
	// Traceback: the prediction has failed, and its traceback is the last that was written.
	Traceback bool `json:"traceback"`
}

// mark gives the frame's call what the log pipes hold up to here.
func (s *Slot) mark(f *ipc.Frame) {
	var at LogPositions
	if err := sonic.Unmarshal(f.Body, &at); err != nil {
		s.violate("a log mark that cannot be read: %w", err)
		return
	}
	s.addLogs(f.ID, s.worker.TakeLogs(s.nameOf(f.ID), at)...)
}

// tell passes on what happens to the frame's call.
func (s *Slot) tell(f *ipc.Frame) {
	s.pool.mu.Lock()
	c := s.outstanding(f.ID)
	s.pool.mu.Unlock()
	switch {
	case c == nil: // it has ended
	case c.Tell == nil:
		s.violate("a frame of kind %d for %#x, which nobody asked for", f.Kind, f.ID)
	case f.Kind == ipc.KindStarted:
		c.Tell.Started()
	case f.Kind == ipc.KindOutput:
		c.Tell.Output(f.Body)
	default:
		c.Tell.Metric(f.Body)
	}
}

// log gives the frame's call a piece of text that the worker told apart itself.
func (s *Slot) log(f *ipc.Frame) {
	var text struct{ Source, Data string }
	if err := sonic.Unmarshal(f.Body, &text); err != nil {
		s.violate("a log frame that cannot be read: %w", err)
		return
	}
	s.addLogs(f.ID, Text{text.Source, []byte(text.Data)})
	s.worker.Logged(text.Source, s.nameOf(f.ID), []byte(text.Data))
}

// outstanding is the call of that id, or nil. Called with the lock held.
func (s *Slot) outstanding(id uint64) *Call {
	if c := s.calls[ipc.ClaimIndex(id)]; c != nil && c.id == id {
		return c
	}
	return s.riders[id]
}

// nameOf is the name of a call that is still outstanding, or "".
func (s *Slot) nameOf(id uint64) string {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if c := s.outstanding(id); c != nil {
		return c.Name
	}
	if r := s.rideOf(id); r != nil {
		return r.names()
	}
	return ""
}

// addLogs adds to the logs of a call that is still outstanding.
func (s *Slot) addLogs(id uint64, texts ...Text) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	var of []*Call
	if c := s.outstanding(id); c != nil {
		of = []*Call{c}
	} else if r := s.rideOf(id); r != nil {
		of = r.waiting()
	}
	for _, c := range of {
		for _, t := range texts {
			c.addLogs(t.Source, t.Text)
		}
	}
}

// Served tells whether the slot ever had a success.
func (s *Slot) Served() bool {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.served
}

// Running is the name of the call that the model has at this moment, or of the first that it has ended
// and whose answer is still on its way; "" where there is neither. Of a dead worker it is what it had, until
// Detach.
func (s *Slot) Running() string {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if s.words == (ipc.Slot{}) { // the page is gone
		return ""
	}
	if c := s.outstanding(s.words.Running()); c != nil {
		return c.Name
	}
	var first *Call
	for _, c := range s.calls {
		if c != nil && (first == nil || c.id < first.id) && s.words.Claim(c.id) == ipc.ClaimRunning {
			first = c
		}
	}
	if first != nil {
		return first.Name
	}
	for _, r := range s.rides {
		if s.words.Claim(r.id) == ipc.ClaimRunning {
			return r.names()
		}
	}
	return ""
}
