package slot

import (
	"time"

	"pinion/ipc"
	"pinion/runtime/predict"
)

// handleFrame handles one frame from the worker. It and the handlers run in the leader, without the lock.
func (s *Slot) handleFrame(f *ipc.Frame) {
	switch {
	case f.Kind.Ends():
		s.handleAnswer(f)
	case f.Kind == ipc.KindLogMark:
		s.handleLogMark(f)
	case f.Kind == ipc.KindLog:
		s.handleLog(f)
	case f.Kind == ipc.KindLogRecord:
		if err := s.worker.process.LogRecord(f); err != nil {
			s.ch.protocolError("a log record that cannot be read: %w", err)
		}
	case f.Kind == ipc.KindLogPipe:
		s.worker.process.LogPipe(f.Descriptor(), f.Nanos != 0)
	case f.Kind == ipc.KindLogPipesEnd:
		s.worker.process.LogPipesEnd()
	case f.Kind == ipc.KindCalls:
		s.handleCalls(f)
	case f.Kind == ipc.KindTraced:
		s.handleTraced(f)
	case f.Kind == ipc.KindBatchDone:
		s.handleBatchDone(f)
	case f.Kind == ipc.KindPrepared:
		s.pool.mu.Lock()
		s.itemPrepared(f.ID)
		s.pool.mu.Unlock()
	case f.Kind == ipc.KindItemsRead:
		s.handleItemsRead(f)
	case f.Kind == ipc.KindStarted, f.Kind == ipc.KindOutput, f.Kind == ipc.KindMetric:
		s.handleEvent(f)
	default:
		s.ch.protocolError("a frame of kind %s on a slot's channel", f.Kind)
	}
}

// handleAnswer ends the frame's call and refills the slot.
func (s *Slot) handleAnswer(f *ipc.Frame) {
	p := s.pool
	r := Result{Kind: f.Kind, Elapsed: time.Duration(f.Nanos), Kept: f.Flags&ipc.FlagKept != 0}
	r.Body, r.Release = f.Own()
	s.worker.checkFatal(s, f, r.Body)
	p.mu.Lock()
	c := s.call(f.ID)
	batched := c != nil && s.batches.items[f.ID] == c
	if c == nil || batched && c.batch.run != nil && !c.batch.run.done {
		due := c == nil && (s.batches.answered(f.ID) || f.ID == s.givenUp)
		p.mu.Unlock()
		if r.Release != nil {
			r.Release()
		}
		switch {
		case c != nil: // without it no call of its batch would read the socket
			s.ch.protocolError("an answer to %#x before the end of its batch", f.ID)
		case !due:
			s.ch.protocolError("an answer to %#x, which is not outstanding", f.ID) // ids are never shared
		}
		return
	}
	if batched {
		r.Waited = c.waitedInBatch(r.Elapsed)
	} else {
		r.Waited = later(c.since, s.freed).Sub(c.since)
	}
	p.finish(c, r)
	if c.waiter.parked { // otherwise the call is this goroutine's, or nothing waits for it yet
		s.ch.woken = append(s.ch.woken, c)
	}
	now := time.Now()
	s.served = s.served || f.Kind == ipc.KindSucceeded
	s.worker.countAnswer()
	p.admission.throughput.callEnded(now)
	if batched {
		if s.batches.prepared != nil { // there is room for another item
			s.ch.out = p.batches.dispatch(s.ch.out)
		}
		s.batches.answered(f.ID)
	} else {
		s.freed, s.stale = now, false
		s.window.learn(r.Elapsed, len(s.pool.slots))
		s.ch.out = s.refill(s.ch.out)
	}
	p.mu.Unlock()
}

// handleLogMark gives the frame's call the output in the log pipes up to the mark.
func (s *Slot) handleLogMark(f *ipc.Frame) {
	at, err := ipc.ParseLogMark(f.Body)
	if err != nil {
		s.ch.protocolError("a log mark that cannot be read: %w", err)
		return
	}
	s.addLogs(f.ID, s.worker.process.TakeLogs(s.nameOf(f.ID), at)...)
}

// handleLog gives the frame's call a piece of text that the worker has attributed to it.
func (s *Slot) handleLog(f *ipc.Frame) {
	text, err := ipc.ParseLog(f.Body)
	if err != nil {
		s.ch.protocolError("a log frame that cannot be read: %w", err)
		return
	}
	s.addLogs(f.ID, Text{text.Source, []byte(text.Data)})
	s.worker.process.Logged(s.nameOf(f.ID), text)
}

// handleBatchDone ends the frame's batch; the answers of its items may still come.
func (s *Slot) handleBatchDone(f *ipc.Frame) {
	end, err := ipc.ParseBatchDone(f.Body)
	if err != nil {
		s.ch.protocolError("the end of a batch that cannot be read: %w", err)
		return
	}
	s.pool.mu.Lock()
	s.batchDone(f.ID, time.Duration(f.Nanos), end)
	s.pool.mu.Unlock()
}

func (s *Slot) handleTraced(f *ipc.Frame) {
	times, err := ipc.ParseTraced(f)
	if err != nil {
		s.ch.protocolError("times that cannot be read: %w", err)
		return
	}
	s.pool.mu.Lock()
	c := s.call(f.ID)
	if c != nil && c.Traced != nil {
		c.Traced.Times = times
	}
	s.pool.mu.Unlock()
	if c != nil && c.Traced == nil {
		s.ch.protocolError("a frame of kind %s for %#x, which is not traced", f.Kind, f.ID)
	}
}

func (s *Slot) handleEvent(f *ipc.Frame) {
	s.pool.mu.Lock()
	c := s.call(f.ID)
	if c != nil && (f.Kind != ipc.KindStarted || c.Inlet != nil) {
		c.emitted = true // items that the model has taken come once
	}
	s.pool.mu.Unlock()
	switch {
	case c == nil: // it has ended
	case c.Events == nil:
		s.ch.protocolError("a frame of kind %s for %#x, which wants no events", f.Kind, f.ID)
	case f.Kind == ipc.KindStarted:
		c.Events.Started()
		if c.Inlet != nil {
			c.Inlet.Begin(itemSender{s.ch.conn, f.ID})
		}
	case f.Kind == ipc.KindOutput:
		c.Events.Output(f.Body, len(s.ch.slots) == 1)
		if !c.yielded {
			c.yielded = true
			s.ch.yielded = append(s.ch.yielded, c)
		}
	default:
		c.Events.Metric(f.Body)
	}
}

// handleCalls passes on the socket by which the frame's call, or batch, calls another model. If the call has ended, the
// socket is closed, and it is if this process had no room for it.
func (s *Slot) handleCalls(f *ipc.Frame) {
	if s.pool.o.OnCalls == nil {
		s.ch.protocolError("a frame of kind %s from a model that may call none", f.Kind)
		return
	}
	var of []*predict.Prediction
	s.pool.mu.Lock()
	for _, c := range s.callsOf(f.ID) {
		of = append(of, c.Of)
	}
	s.pool.mu.Unlock()
	if len(of) == 0 {
		return
	}
	if fd := f.Descriptor(); fd >= 0 {
		s.pool.o.OnCalls(of, fd)
	}
}

// handleItemsRead lets the client of the frame's call send more items.
func (s *Slot) handleItemsRead(f *ipc.Frame) {
	c := underLock(s.pool, func() *Call { return s.call(f.ID) })
	switch {
	case c == nil: // it has ended
	case c.Inlet == nil:
		s.ch.protocolError("a frame of kind %s for %#x, which has no streamed input", f.Kind, f.ID)
	default:
		c.Inlet.Took(f.Nanos)
	}
}

// itemSender sends the items of a call. An error means that the worker is gone, which ends the call.
type itemSender struct {
	conn *ipc.Conn
	id   uint64
}

// Item implements predict.ItemSender, as do the next two methods.
func (s itemSender) Item(item predict.Item) {
	flags := uint8(0)
	if item.Binary {
		flags = ipc.FlagBinary
	}
	_ = s.conn.QueueIn(nil, ipc.KindItem, flags, s.id, item.Value)
}

func (s itemSender) End(reason string) { _ = s.conn.Queue(ipc.KindItemsEnd, s.id, []byte(reason)) }

func (s itemSender) Flush() { _ = s.conn.Flush() }

// nameOf returns the name of an outstanding call, the names of a batch, or "". It is called without the lock.
func (s *Slot) nameOf(id uint64) string {
	return underLock(s.pool, func() string { return names(s.callsOf(id)) })
}

// addLogs adds to the logs of an outstanding call, or of all calls of a batch. It is called without the lock.
func (s *Slot) addLogs(id uint64, texts ...Text) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for _, c := range s.callsOf(id) {
		for _, t := range texts {
			c.addLogs(t.Source, t.Text)
		}
	}
}
