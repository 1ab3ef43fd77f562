package host

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/httpd/protocol"
	"pinion/runtime/predict"
)

// stream answers one client with the items of a prediction in the form of another protocol. As with a native stream, the
// goroutine that serves the connection renders all items that are there into one buffer, and writes it as one chunk.
type stream struct {
	answers.Chunks
	run   *protocol.Run
	to    protocol.Renderer
	items [][]byte
	ended bool
	began bool  // the head is sent, so that the buffer may be written
	err   error // of a write between two items
}

// maxItems is how many items are rendered at once.
const maxItems = 64

// SendStream implements protocol.Host.
func (h *Host) SendStream(ctx *fasthttp.RequestCtx, r *protocol.Run, contentType string,
	to protocol.Renderer,
) *protocol.Error {
	st := &stream{
		run: r, to: to, items: make([][]byte, 0, maxItems),
	}
	h.Front.Out.Access.Named(ctx, r.ID())
	st.Open(ctx, h.Front.Out, st, r.Waker())
	if err := st.first(); err != nil {
		st.Close()
		return err
	}
	if plain, ok := to.(protocol.ByteRenderer); ok {
		if err := plain.Broken(); err != nil && len(st.Buf) == answers.ChunkHead {
			st.Close()
			return err
		}
		contentType = plain.ContentType()
	}
	h.Front.Out.SendEvents(ctx, st, contentType)
	return nil
}

// errBroken means that a stream of bytes has failed, so that its connection is cut off.
var errBroken = errors.New("the stream has failed")

// errSilent means that no item has come for so long that a comment is due.
var errSilent = errors.New("no item has come")

// first waits for the first items, so that a refusal can still set the status. The status is sent with the first item,
// or in time for the first comment.
func (st *stream) first() *protocol.Error {
	var refused *protocol.Error
	err := st.next()
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, answers.ErrDisconnected):
		return protocol.Errorf(protocol.Failed, "the client has left")
	}
	st.render(err)
	if st.err != nil {
		return protocol.ErrorOf(st.err)
	}
	return nil
}

// next waits for items. The error is io.EOF, errDisconnected, errSilent or a *protocol.Error.
func (st *stream) next() error {
	for {
		var err error
		st.items, err = st.run.Next(st.items[:0])
		switch {
		case st.Left():
			return answers.ErrDisconnected
		case !errors.Is(err, predict.ErrStopped):
			return err
		case st.Silent():
			return errSilent
		}
	}
}

// render gathers the items that are there. err is what Next returned beside them.
func (st *stream) render(err error) {
	if errors.Is(err, errSilent) {
		if pinger, ok := st.to.(protocol.Pinger); ok {
			st.Buf = pinger.Ping(st.Buf)
			return
		}
		st.Buf = append(st.Buf, answers.Comment...)
		return
	}
	coming := 0
	for _, item := range st.items {
		coming += len(item)
	}
	if st.err = st.ChargeAhead(2 * coming); st.err != nil {
		return
	}
	if coming > answers.BufferCost {
		st.Buf = slices.Grow(st.Buf, coming+coming/8) // one that doubles would leave as much behind
	}
	rows, _ := st.to.(protocol.RowsRenderer)
	for _, item := range st.items {
		var more bool
		if st.Buf, more = st.to.Item(st.Buf, item); more {
			if st.began && len(st.Buf) >= answers.FlushAt {
				if st.err = st.Flush(); st.err != nil {
					return
				}
			}
			continue
		}
		if rows != nil && rows.Done() || !st.run.Skip() {
			st.finish(nil)
		}
		return
	}
	if errors.Is(err, protocol.ErrNextRow) {
		if rows != nil {
			if st.Buf = rows.NextRow(st.Buf); rows.Done() {
				st.finish(nil)
			}
		}
		return
	}
	if err != nil {
		var failed *protocol.Error
		errors.As(err, &failed)
		st.finish(failed)
	}
}

// finish gathers what follows the last item.
func (st *stream) finish(err *protocol.Error) {
	st.ended = true
	st.run.Cancel() // no effect if it has ended
	if keeper, ok := st.to.(protocol.Keeper); ok {
		const times = 6 // the last events of Responses have the text five times
		if st.err = st.ChargeAhead(times * keeper.Kept()); st.err != nil {
			return
		}
	}
	st.Buf = st.to.End(st.Buf, err)
}

// WriteTo writes the items as they come.
func (st *stream) WriteTo(io.Writer) (int64, error) {
	defer st.Close()
	return 0, st.follow()
}

// follow writes what is gathered, and then what comes.
func (st *stream) follow() error {
	st.began = true
	for {
		if keeper, ok := st.to.(protocol.Keeper); ok {
			st.Kept = keeper.Kept()
		}
		err := cmp.Or(st.err, st.Flush())
		if plain, ok := st.to.(protocol.ByteRenderer); ok && st.ended && plain.Broken() != nil && err == nil {
			err = errBroken
		}
		if err != nil || st.ended {
			return err
		}
		err = st.next()
		if errors.Is(err, answers.ErrDisconnected) {
			return err
		}
		st.render(err)
	}
}

// Close ends the run.
func (st *stream) Close() error {
	if st.End() {
		st.run.Release()
	}
	return nil
}

// Cancel is called when the client has disconnected; see Transport.Watch.
func (st *stream) Cancel() {
	st.Disconnect()
	st.run.Cancel()
	st.run.Wake()
}
