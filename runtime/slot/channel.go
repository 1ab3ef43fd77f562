package slot

import (
	"errors"
	"fmt"
	"time"

	"pinion/ipc"
)

// channel is the front's end of a socket to a worker: who reads it, and what is written to it. It belongs to one slot, or
// to all slots of a worker with an event loop, which then reads and writes once for all that happens in one turn.
type channel struct {
	conn  *ipc.Conn
	slots []*Slot // by index, if they share it; else the one

	// Guarded by pool.mu.
	leader      *Call // its goroutine reads the socket
	followers   list  // their goroutines wait for their answers
	closed      bool  // nothing more is read, because its worker is lost
	outstanding int   // calls of its slots
	unflushed   int   // delayed requests: see mayDelay
	draining    bool  // Detach waits for drained
	// closed when nothing more is to be read: with closed, or when draining and no call is outstanding
	drained chan struct{}

	// Used by the leader.
	onFrame func(*ipc.Frame)                         // handleFrame
	out     deliveries                               // sent after the frames that were read together
	yielded []*Call                                  // flushed then
	woken   []*Call                                  // woken then
	onRead  func(blocked bool) (time.Duration, bool) // afterRead
	polling *Slot                                    // whose budget it polls for
	budget  time.Duration                            // to poll before it blocks
	fault   error                                    // the worker's violation of the protocol
}

func newChannel(conn *ipc.Conn) *channel {
	ch := &channel{conn: conn, drained: make(chan struct{})}
	ch.onFrame, ch.onRead = ch.handleFrame, ch.afterRead
	return ch
}

// handleFrame passes a frame to its slot.
func (ch *channel) handleFrame(f *ipc.Frame) {
	i := ipc.SlotIndex(f.ID)
	if len(ch.slots) == 1 {
		i = 0
	}
	if i >= len(ch.slots) {
		ch.protocolError("a frame for slot %d of %d", i, len(ch.slots))
		return
	}
	ch.slots[i].handleFrame(f)
}

// protocolError records a violation of the protocol by the worker. The leader then closes the channel.
func (ch *channel) protocolError(format string, args ...any) {
	if ch.fault == nil {
		ch.fault = fmt.Errorf("%w: "+format, append([]any{ipc.ErrProtocol}, args...)...)
	}
}

// afterFrames sends the deliveries and wakes the calls that the last frames led to. The leader calls it without the
// lock.
func (ch *channel) afterFrames() {
	for i, c := range ch.yielded {
		c.yielded = false
		c.Events.Flush()
		ch.yielded[i] = nil
	}
	ch.yielded = ch.yielded[:0]
	ch.out.deliver()
	clear(ch.out) // their inputs may be large, and the next delivery may be late
	ch.out = ch.out[:0]
	for i, c := range ch.woken {
		c.wake()
		ch.woken[i] = nil
	}
	ch.woken = ch.woken[:0]
}

// closeWith marks the slot's channel as closed. Its calls stay until Detach knows why the worker exited.
func (s *Slot) closeWith(err error) {
	if s.ch.closed {
		return
	}
	s.ch.closed = true
	s.ch.signalDrained()
	switch {
	case errors.Is(err, ipc.ErrClosed):
		s.worker.process.Closed()
	case errors.Is(err, ipc.ErrProtocol):
		s.worker.process.Kill(FaultProtocol, err.Error()) // it is alive, but its frames are unusable
	default:
		s.worker.process.Kill(FaultShortage, err.Error())
	}
}

// signalDrained makes drain return.
func (ch *channel) signalDrained() {
	select {
	case <-ch.drained:
	default:
		close(ch.drained)
	}
}

// A small request to a fast and busy worker is not written at once. It waits for the leader's next flush, which comes
// with the next answers. So answers must be due, to requests that have been sent. Code that takes back sent requests
// flushes the delayed ones.
const (
	delayAbove = 4                     // requests on their way
	delayBelow = 50 * time.Microsecond // average time of a prediction
	delaySize  = 4 << 10               // bytes: they are copied under the lock
)

// mayDelay reports whether d, just assigned, can wait for the leader's next flush.
func (s *Slot) mayDelay(d delivery) bool {
	return s.ch.leader != nil && s.window.mean > 0 && s.window.mean < delayBelow && d.size() <= delaySize &&
		s.ch.outstanding-1-s.ch.unflushed >= delayAbove
}

// flushDelayed adds a flush of the delayed requests to d.
func (ch *channel) flushDelayed(d deliveries) deliveries {
	if ch.unflushed == 0 {
		return d
	}
	ch.unflushed = 0
	return append(d, delivery{conn: ch.conn})
}
