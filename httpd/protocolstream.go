package httpd

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
)

// protocolStream answers one client with the items of a prediction in the form of another protocol. As with stream, the
// goroutine that serves the connection renders all items that are there into one buffer, and writes it as one chunk.
type protocolStream struct {
	chunkWriter
	s     *Server
	run   *protocol.Run
	to    protocol.Renderer
	items [][]byte
	ended bool
	began bool  // the head is sent, so that the buffer may be written
	err   error // of a write between two items
}

// SendStream implements protocol.Host.
func (h *host) SendStream(ctx *fasthttp.RequestCtx, r *protocol.Run, contentType string,
	to protocol.Renderer,
) *protocol.Error {
	st := &protocolStream{
		chunkWriter: h.s.out.newChunkWriter(ctx), s: h.s, run: r, to: to, items: make([][]byte, 0, maxEvents),
	}
	h.s.out.access.Named(ctx, r.ID())
	st.watched = h.s.transport.Watch(ctx, st)
	st.timer = time.AfterFunc(h.s.opt.StreamComment, r.Waker())
	if err := st.first(); err != nil {
		st.Close()
		return err
	}
	if plain, ok := to.(protocol.ByteRenderer); ok {
		if err := plain.Broken(); err != nil && len(st.buf) == chunkHead {
			st.Close()
			return err
		}
		contentType = plain.ContentType()
	}
	h.s.out.sendEvents(ctx, st, contentType)
	return nil
}

// errBroken means that a stream of bytes has failed, so that its connection is cut off.
var errBroken = errors.New("the stream has failed")

// errSilent means that no item has come for so long that a comment is due.
var errSilent = errors.New("no item has come")

// first waits for the first items, so that a refusal can still set the status. The status is sent with the first item,
// or in time for the first comment.
func (st *protocolStream) first() *protocol.Error {
	var refused *protocol.Error
	err := st.next()
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, errDisconnected):
		return protocol.Errorf(protocol.Failed, "the client has left")
	}
	st.render(err)
	if st.err != nil {
		return protocol.ErrorOf(st.err)
	}
	return nil
}

// next waits for items. The error is io.EOF, errDisconnected, errSilent or a *protocol.Error.
func (st *protocolStream) next() error {
	for {
		var err error
		st.items, err = st.run.Next(st.items[:0])
		switch {
		case st.disconnected.Load():
			return errDisconnected
		case !errors.Is(err, predict.ErrStopped):
			return err
		case st.silent(st.s.opt.StreamComment):
			return errSilent
		}
	}
}

// render gathers the items that are there. err is what Next returned beside them.
func (st *protocolStream) render(err error) {
	if errors.Is(err, errSilent) {
		if pinger, ok := st.to.(protocol.Pinger); ok {
			st.buf = pinger.Ping(st.buf)
			return
		}
		st.buf = append(st.buf, comment...)
		return
	}
	coming := 0
	for _, item := range st.items {
		coming += len(item)
	}
	if st.err = st.chargeAhead(2 * coming); st.err != nil {
		return
	}
	if coming > bufferCost {
		st.buf = slices.Grow(st.buf, coming+coming/8) // one that doubles would leave as much behind
	}
	rows, _ := st.to.(protocol.RowsRenderer)
	for _, item := range st.items {
		var more bool
		if st.buf, more = st.to.Item(st.buf, item); more {
			if st.began && len(st.buf) >= flushAt {
				if st.err = st.flush(); st.err != nil {
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
			if st.buf = rows.NextRow(st.buf); rows.Done() {
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
func (st *protocolStream) finish(err *protocol.Error) {
	st.ended = true
	st.run.Cancel() // no effect if it has ended
	if keeper, ok := st.to.(protocol.Keeper); ok {
		const times = 6 // the last events of Responses have the text five times
		if st.err = st.chargeAhead(times * keeper.Kept()); st.err != nil {
			return
		}
	}
	st.buf = st.to.End(st.buf, err)
}

// WriteTo writes the items as they come.
func (st *protocolStream) WriteTo(io.Writer) (int64, error) {
	defer st.Close()
	return 0, st.follow()
}

// follow writes what is gathered, and then what comes.
func (st *protocolStream) follow() error {
	st.began = true
	for {
		if keeper, ok := st.to.(protocol.Keeper); ok {
			st.kept = keeper.Kept()
		}
		err := cmp.Or(st.err, st.flush())
		if plain, ok := st.to.(protocol.ByteRenderer); ok && st.ended && plain.Broken() != nil && err == nil {
			err = errBroken
		}
		if err != nil || st.ended {
			return err
		}
		err = st.next()
		if errors.Is(err, errDisconnected) {
			return err
		}
		st.render(err)
	}
}

// Close ends the run.
func (st *protocolStream) Close() error {
	if st.close(st.s.transport) {
		st.run.Release()
	}
	return nil
}

// Cancel is called when the client has disconnected; see Transport.Watch.
func (st *protocolStream) Cancel() {
	st.disconnected.Store(true)
	st.run.Cancel()
	st.run.Wake()
	st.abort()
}
