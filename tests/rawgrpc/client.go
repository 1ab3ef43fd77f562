package rawgrpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"pinion/tests/assert"
)

// wait bounds a test that fails.
const wait = 60 * time.Second

// Client is a connection. One goroutine uses it.
type Client struct {
	net.Conn
	t      testing.TB
	framer *http2.Framer
	fields bytes.Buffer
	hpack  *hpack.Encoder
	last   uint32 // the last call's stream
}

// Address is that of hostile clients: honest ones have another.
func Address() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)} }

// Dial connects to a gRPC port, from Address, and sends the preface with those settings.
func Dial(t testing.TB, address string, settings ...http2.Setting) *Client {
	t.Helper()
	nc := assert.Must((&net.Dialer{LocalAddr: Address()}).Dial("tcp", address))(t)
	t.Cleanup(func() { nc.Close() })
	c := &Client{Conn: nc, t: t, framer: http2.NewFramer(nc, nc)}
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.hpack = hpack.NewEncoder(&c.fields)
	_, _ = io.WriteString(nc, http2.ClientPreface) // an error shows at the next read
	_ = c.framer.WriteSettings(settings...)
	return c
}

// Open begins a call of a method, with one header so many times, and returns its stream.
func (c *Client) Open(method string, times int, header hpack.HeaderField) uint32 {
	c.t.Helper()
	c.fields.Reset()
	for _, f := range []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: method},
		{Name: ":authority", Value: "x"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	} {
		_ = c.hpack.WriteField(f) // into memory
	}
	for range times {
		_ = c.hpack.WriteField(header)
	}
	if c.last += 2; c.last == 2 {
		c.last = 1
	}
	const most = 16 << 10
	block := c.fields.Bytes()
	first := block[:min(len(block), most)]
	_ = c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: c.last, BlockFragment: first,
		EndHeaders: len(first) == len(block),
	})
	for block = block[len(first):]; len(block) > 0; {
		n := min(len(block), most)
		_ = c.framer.WriteContinuation(c.last, n == len(block), block[:n])
		block = block[n:]
	}
	return c.last
}

// Call begins a call of a method.
func (c *Client) Call(method string) uint32 {
	c.t.Helper()
	return c.Open(method, 0, hpack.HeaderField{})
}

// Continue sends an empty piece of a header block that has not ended.
func (c *Client) Continue(stream uint32) error { return c.framer.WriteContinuation(stream, false, nil) }

// Begin begins a header block, and returns its call's stream.
func (c *Client) Begin() uint32 {
	if c.last += 2; c.last == 2 {
		c.last = 1
	}
	_ = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.last})
	return c.last
}

// Announce sends the head of a message of size bytes, and its beginning.
func (c *Client) Announce(stream uint32, size int, begin []byte) {
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(size))
	c.Data(stream, append(head, begin...), false)
}

// Message sends a whole message, which is the call's last.
func (c *Client) Message(stream uint32, message []byte) {
	c.Data(stream, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...), true)
}

// Data sends bytes of a call, without regard to its window.
func (c *Client) Data(stream uint32, data []byte, end bool) {
	for len(data) > 16<<10 {
		_ = c.framer.WriteData(stream, false, data[:16<<10])
		data = data[16<<10:]
	}
	_ = c.framer.WriteData(stream, end, data)
}

// AwaitWindow waits until the server lets the client send more of a call.
func (c *Client) AwaitWindow(stream uint32) {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(wait))
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			c.t.Fatalf("wait for the window of call %d: got %v, want no error", stream, err)
		}
		if f, ok := frame.(*http2.WindowUpdateFrame); ok && f.StreamID == stream {
			return
		}
	}
}

// Ended waits for the end of a call: its status, or "reset"; "closed" if the connection ends. It answers pings.
func (c *Client) Ended(stream uint32) string {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(wait))
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
				c.t.Fatalf("call %d did not end", stream)
			}
			return "closed"
		}
		switch f := frame.(type) {
		case *http2.PingFrame:
			_ = c.framer.WritePing(true, f.Data)
		case *http2.RSTStreamFrame:
			if f.StreamID == stream {
				return "reset"
			}
		case *http2.MetaHeadersFrame:
			if f.StreamID != stream || !f.StreamEnded() {
				continue
			}
			status, text := "", ""
			for _, field := range f.Fields {
				switch field.Name {
				case "grpc-status":
					status = field.Value
				case "grpc-message":
					text = field.Value
				}
			}
			return fmt.Sprintf("%s %s", status, text)
		}
	}
}
