package slot

import (
	"strconv"

	"pinion/ipc"
)

// delivery is a frame to send, with or without the lock. A delivery without an id only flushes what was queued before.
type delivery struct {
	conn     *ipc.Conn
	id       uint64
	call     *Call    // the call of the request
	forBatch bool     // the worker keeps the request until its batch is dispatched
	kind     ipc.Kind // if not 0, the frame is not a request but of this kind, with that body
	body     []byte
}

// size returns how many bytes of the request are the client's.
func (d delivery) size() int {
	n := len(d.call.Input) + len(d.call.Context)
	for _, part := range d.call.Parts {
		n += len(part)
	}
	return n
}

// queue queues the frame on the connection. It ignores errors: they mean that the worker has exited, and Detach settles
// all calls of its slots.
func (d delivery) queue() {
	c := d.call
	if d.kind != 0 {
		_ = d.conn.Queue(d.kind, d.id, d.body)
		return
	}
	var flags uint8
	if d.forBatch {
		flags |= ipc.FlagBatchItem
	}
	if c.Events != nil {
		flags |= ipc.FlagEvents
	}
	if c.Train {
		flags |= ipc.FlagTrain
	}
	if c.Traced != nil && c.Traced.Span.Sampled && !d.forBatch {
		flags |= ipc.FlagTrace
	}
	var function []byte
	if name := c.function(); name != "" {
		function = strconv.AppendQuote(nil, name)
	}
	if c.Parts != nil {
		_ = d.conn.QueuePredict(d.id, flags, c.BodyFile, c.Shared, c.Context, c.Files, function, c.Parts...)
		return
	}
	_ = d.conn.QueuePredict(d.id, flags, c.BodyFile, c.Shared, c.Context, c.Files, function, c.Input)
}

func (d delivery) flush() { _ = d.conn.Flush() }

// deliveries are sent together: one write for each run of deliveries to a connection.
type deliveries []delivery

func (ds deliveries) deliver() {
	for i, d := range ds {
		if d.id != 0 {
			d.queue()
		}
		if i+1 == len(ds) || ds[i+1].conn != d.conn {
			d.flush()
		}
	}
}
