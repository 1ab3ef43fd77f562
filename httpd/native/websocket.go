package native

import (
	"bufio"
	"encoding/base64"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/httpd/transport"
	"pinion/ipc/bufpool"
	"pinion/runtime/predict"
)

const (
	socketBuffer  = 4 << 10 // bytes of a message that are read, or written, at a time
	minCompressed = 1 << 10 // bytes of a message that is worth it
	maxReason     = 123     // bytes of a close frame's text (RFC 6455, section 5.5)
	protocolName  = "cog.stream.v1"
)

// upgrader answers handshakes. Who may ask was checked before.
func upgrader() *websocket.Upgrader {
	return &websocket.Upgrader{
		ReadBufferSize: socketBuffer, WriteBufferSize: socketBuffer, WriteBufferPool: &writeBuffers,
		EnableCompression: true, CheckOrigin: func(*http.Request) bool { return true },
	}
}

// writeBuffers are those of messages that are being written.
var writeBuffers sync.Pool

// Upgrades reports whether a request asks for a WebSocket.
func Upgrades(ctx *fasthttp.RequestCtx) bool {
	return ctx.IsGet() && ctx.Request.Header.ConnectionUpgrade() && websocket.FastHTTPIsWebSocketUpgrade(ctx)
}

// handshake returns the request of a WebSocket as the library reads it, or what is wrong with it.
func handshake(ctx *fasthttp.RequestCtx) (*http.Request, string) {
	r := &http.Request{Method: http.MethodGet, Header: http.Header{
		"Connection": {"upgrade"}, "Upgrade": {"websocket"},
	}}
	for _, name := range []string{
		"Sec-Websocket-Version", "Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Extensions",
	} {
		for _, value := range ctx.Request.Header.PeekAll(name) {
			r.Header.Add(name, string(value))
		}
	}
	if r.Header.Get("Sec-Websocket-Version") != "13" {
		return nil, "the Sec-WebSocket-Version must be 13"
	}
	if key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-Websocket-Key")); err != nil || len(key) != 16 {
		return nil, "the Sec-WebSocket-Key must be 16 bytes in base64"
	}
	return r, ""
}

// hijacked gives the library a connection that has been taken over already.
type hijacked struct {
	http.ResponseWriter
	wire *wire
}

// Hijack implements http.Hijacker.
func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.wire, bufio.NewReadWriter(bufio.NewReaderSize(nil, 1), bufio.NewWriterSize(nil, 1)), nil
}

// Header is for the answer to a handshake that the library refuses, which is not sent.
func (h hijacked) Header() http.Header         { return http.Header{} }
func (h hijacked) Write(p []byte) (int, error) { return len(p), nil }
func (h hijacked) WriteHeader(int)             {}

// wire is the connection below a WebSocket. It sets the deadlines, and lets frames be written together.
type wire struct {
	*transport.Conn
	ahead  []byte         // that the client sent behind its request
	idle   time.Duration  // how long the client may be silent between two messages
	in     *predict.Inlet // is flushed before a read that may wait
	within bool           // a message has begun to come

	mu    sync.Mutex
	holds bool // frames are kept in kept, until release
	kept  []byte
}

// Read implements net.Conn. Only the goroutine that reads messages calls it.
func (w *wire) Read(p []byte) (int, error) {
	if len(w.ahead) > 0 {
		n := copy(p, w.ahead)
		w.ahead = w.ahead[n:]
		return n, nil
	}
	if !w.within {
		w.in.Flush()
		w.ReadWithin(w.idle)
	}
	return w.Receive(p, w.within)
}

// Write implements net.Conn. The library writes a frame in one call, or a large one in two while no other is written.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holds && len(w.kept)+len(p) <= answers.FlushAt {
		w.kept = append(w.kept, p...)
		return len(p), nil
	}
	if err := w.flush(); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

// hold keeps the frames that follow.
func (w *wire) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds, w.kept = true, bufpool.Get(answers.FlushAt)[:0]
}

// release writes the frames that were kept.
func (w *wire) release() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.flush()
	bufpool.Put(w.kept)
	w.holds, w.kept = false, nil
	return err
}

func (w *wire) flush() error {
	if len(w.kept) == 0 {
		return nil
	}
	_, err := w.Conn.Write(w.kept)
	w.kept = w.kept[:0]
	return err
}

// The library's deadlines have no effect: the connection has its own.

func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
