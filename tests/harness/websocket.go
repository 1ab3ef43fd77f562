package harness

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
)

// The opcodes of WebSocket frames (RFC 6455, section 5.2), and the bit of a message's last one.
const (
	Continuation = 0
	TextFrame    = 1
	BinaryFrame  = 2
	CloseFrame   = 8
	PingFrame    = 9
	PongFrame    = 10

	FinalFrame = 0x80
	Compressed = 0x40 // RFC 7692, section 6
)

// WebSocket is a client that sends any frames, right or wrong.
type WebSocket struct {
	t      testing.TB
	conn   net.Conn
	reader *bufio.Reader
	Answer *http.Response // to the handshake
	// Deflated means that the last message was compressed.
	Deflated bool
}

// OpenWebSocket asks for a WebSocket at a path, with further headers.
func OpenWebSocket(t testing.TB, s *Server, path string, headers ...string) *WebSocket {
	t.Helper()
	conn := s.Dial()
	assert.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	ws := &WebSocket{t: t, conn: conn, reader: bufio.NewReader(conn)}
	head := "GET " + path + " HTTP/1.1\r\nHost: " + Host(s) + "\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	for i := 0; i+1 < len(headers); i += 2 {
		head += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	ws.Raw([]byte(head + "\r\n"))
	var err error
	ws.Answer, err = http.ReadResponse(ws.reader, nil)
	assert.NoError(t, err, "read the answer to the handshake")
	return ws
}

// Refused returns the answer to a handshake that was refused.
func (ws *WebSocket) Refused() Answer {
	ws.t.Helper()
	body, err := io.ReadAll(ws.Answer.Body)
	return Answer{Code: ws.Answer.StatusCode, Header: ws.Answer.Header, Body: body, Err: err}
}

// Raw writes bytes.
func (ws *WebSocket) Raw(data []byte) {
	ws.t.Helper()
	_, err := ws.conn.Write(data)
	assert.NoError(ws.t, err, "write to the WebSocket")
}

// Frame returns a frame of a client. first is its first byte.
func Frame(first byte, payload []byte) []byte {
	frame := []byte{first}
	switch n := len(payload); {
	case n < 126:
		frame = append(frame, 0x80|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(n))
	}
	mask := [4]byte{1, 2, 3, 4}
	frame = append(frame, mask[:]...)
	for i, b := range payload {
		frame = append(frame, b^mask[i%4])
	}
	return frame
}

// Send sends text messages.
func (ws *WebSocket) Send(texts ...string) {
	ws.t.Helper()
	for _, text := range texts {
		ws.Raw(Frame(FinalFrame|TextFrame, []byte(text)))
	}
}

// SendBinary sends a binary message.
func (ws *WebSocket) SendBinary(data []byte) {
	ws.t.Helper()
	ws.Raw(Frame(FinalFrame|BinaryFrame, data))
}

// Next returns the next frame. first is its first byte, 0 after the end of the connection.
func (ws *WebSocket) Next() (first byte, payload []byte) {
	ws.t.Helper()
	var head [2]byte
	if _, err := io.ReadFull(ws.reader, head[:]); err != nil {
		assert.True(ws.t, err == io.EOF, "read a frame: %v", err)
		return 0, nil
	}
	size := uint64(head[1])
	if size >= 126 {
		var long [8]byte
		_, err := io.ReadFull(ws.reader, long[8-2*(1+3*(size-126)):])
		assert.NoError(ws.t, err, "read the length of a frame")
		size = binary.BigEndian.Uint64(long[:])
	}
	payload = make([]byte, size)
	_, err := io.ReadFull(ws.reader, payload)
	assert.NoError(ws.t, err, "read a frame of %d bytes", size)
	return head[0], payload
}

// Message is an event of a session, a binary item, or its end.
type Message struct {
	Event  string          `json:"event"`
	Data   json.RawMessage `json:"data"`
	ID     string          `json:"id"`
	Binary []byte          `json:"-"`
	Code   int             `json:"-"` // with which it closes
	Reason string          `json:"-"`
}

// Message returns the next message; pings are left out. Its Event is "binary" or "close" where it has none.
func (ws *WebSocket) Message() (m Message) {
	ws.t.Helper()
	var kind byte
	ws.Deflated = false
	var whole []byte
	for {
		first, payload := ws.Next()
		switch first & 15 {
		case PingFrame, PongFrame:
			continue
		case CloseFrame:
			if len(payload) < 2 {
				return Message{Event: "close", Code: 1005}
			}
			return Message{Event: "close", Code: int(binary.BigEndian.Uint16(payload)), Reason: string(payload[2:])}
		case TextFrame, BinaryFrame:
			kind, ws.Deflated = first&15, first&Compressed != 0
		}
		if first == 0 && payload == nil {
			return Message{Event: "close", Code: 1006, Reason: "the connection has ended"}
		}
		if whole = append(whole, payload...); first&FinalFrame == 0 {
			continue
		}
		if ws.Deflated {
			end := strings.NewReader("\x00\x00\xff\xff\x01\x00\x00\xff\xff")
			whole = assert.Must(io.ReadAll(flate.NewReader(io.MultiReader(bytes.NewReader(whole), end))))(ws.t)
		}
		if kind == BinaryFrame {
			return Message{Event: "binary", Binary: whole}
		}
		assert.NoError(ws.t, json.Unmarshal(whole, &m), "read the message %.200s", whole)
		return m
	}
}

// Wait returns the next message that is this event.
func (ws *WebSocket) Wait(event string) Message {
	ws.t.Helper()
	for {
		m := ws.Message()
		if m.Event == event {
			return m
		}
		assert.TrueNow(ws.t, m.Event != "close" && m.Event != "completed", "got %s %s (%d %s), want an event %s", m.Event,
			m.Data, m.Code, m.Reason, event)
	}
}

// End returns the prediction at the end of a session, and how it closes.
func (ws *WebSocket) End() (p Prediction, closed Message) {
	ws.t.Helper()
	for {
		switch m := ws.Message(); m.Event {
		case "completed":
			FromJSON(ws.t, m.Data, &p)
		case "close":
			ws.conn.Close()
			return p, m
		}
	}
}

// WantEnd expects a session to end so: by a status, a close code, and texts in the error and the reason of the close.
func (ws *WebSocket) WantEnd(what, status string, code int, says string) Prediction {
	ws.t.Helper()
	p, closed := ws.End()
	assert.Equal(ws.t, what+": its end", fmt.Sprintf("%s %d", p.Status, closed.Code), fmt.Sprintf("%s %d", status, code))
	assert.Contains(ws.t, what+": the error", p.Error, says)
	return p
}

// Close ends the connection without a word.
func (ws *WebSocket) Close() { ws.conn.Close() }
