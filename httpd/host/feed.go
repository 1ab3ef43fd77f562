package host

import (
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/httpd/negotiate"
)

// feed answers one client with events that no prediction makes.
type feed struct {
	answers.Chunks
	stop <-chan struct{} // closed when the server ends
	next func(dst []byte, last bool) []byte
}

// SendFeed implements protocol.Host.
func (h *Host) SendFeed(ctx *fasthttp.RequestCtx, next func(dst []byte, last bool) []byte) {
	f := &feed{stop: h.Front.Out.Transport.Stopping(), next: next}
	f.Open(ctx, h.Front.Out, f, func() {})
	h.Front.Out.SendEvents(ctx, f, negotiate.TypeEventStream)
}

// WriteTo writes the events as they come.
func (f *feed) WriteTo(io.Writer) (int64, error) {
	defer f.Close()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for last := false; ; {
		if f.Buf = f.next(f.Buf, last); len(f.Buf) == answers.ChunkHead && f.Silent() {
			f.Buf = append(f.Buf, answers.Comment...)
		}
		if err := f.Flush(); err != nil || last {
			return 0, err
		}
		select {
		case <-f.stop:
			last = true
		case <-second.C:
		}
		if f.Left() {
			return 0, answers.ErrDisconnected
		}
	}
}

// Cancel is called when the client has disconnected; see Transport.Watch.
func (f *feed) Cancel() { f.Disconnect() }

// Close ends the stream.
func (f *feed) Close() error {
	f.End()
	return nil
}
