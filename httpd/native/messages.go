package native

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/fasthttp/websocket"

	"pinion/httpd/protocol"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// read reads the messages of a session until the client leaves, which it reports by false, or is at fault.
func (s *session) read(stop <-chan struct{}) (more bool) {
	kind, text, charged, err := s.message()
	switch {
	case err != nil:
		s.k.Bodies.Memory.Free(charged)
		return s.broken(err)
	case kind == websocket.BinaryMessage:
		s.k.Bodies.Memory.Free(charged)
		return s.blame(websocket.CloseUnsupportedData, "the first message is the request: it must be text")
	}
	select {
	case s.first <- firstMessage{text, charged}:
	case <-stop:
		s.k.Bodies.Memory.Free(charged)
		return true
	}
	ended := false
	for index := 0; ; {
		kind, text, charged, err := s.message()
		s.k.Bodies.Memory.Free(charged) // Put charges what is kept
		select {
		case <-s.begun:
		case <-stop:
			return true
		}
		if err != nil {
			return s.broken(fmt.Errorf("item %d: %w", index, err))
		}
		item := predict.Item{Value: text, Binary: kind == websocket.BinaryMessage}
		if !item.Binary {
			if err := rawjson.Check(text); err != nil {
				return s.blame(websocket.CloseInvalidFramePayloadData, fmt.Sprintf("item %d: %v", index, err))
			}
			switch command(text) {
			case "$end":
				s.in.End("")
				ended = true
				continue
			case "$cancel":
				s.cancel()
				continue
			}
		}
		if ended {
			return s.blame(websocket.ClosePolicyViolation, `an item came after {"$end": true}`)
		}
		switch err := s.in.Put(item, stop); {
		case errors.Is(err, predict.ErrInletClosed):
			ended = true // the model has answered; the client does not know that yet
		case err != nil:
			code := closeCode(err)
			if item.Binary && code == websocket.CloseInvalidFramePayloadData {
				code = websocket.CloseUnsupportedData
			}
			return s.blame(code, predict.ItemReason(err))
		}
		index++
	}
}

// command returns the name in {"$end": true} and {"$cancel": true}; "" means that the message is an item.
func command(text []byte) string {
	const longest = 100 // bytes, with blanks
	if len(text) > longest || !bytes.Contains(text, []byte(`"$`)) || rawjson.KindOf(text) != rawjson.KindObject {
		return ""
	}
	name, n := "", 0
	for key, value := range rawjson.Members(text) {
		if n++; string(value) == "true" {
			name = string(bytes.Trim(key, `"`))
		}
	}
	if n != 1 || name != "$end" && name != "$cancel" {
		return ""
	}
	return name
}

// errTooBig means that a message is larger than --max-body.
var errTooBig = errors.New("the message is larger than --max-body allows")

// message returns the next message, and what it is charged to the memory budget, which the caller frees.
func (s *session) message() (kind int, text []byte, charged int64, err error) {
	kind, from, err := s.ws.NextReader()
	if err != nil {
		return 0, nil, 0, err
	}
	s.wire.within = true
	defer func() { s.wire.within = false }()
	n, all := 0, 0
	for err == nil && all < len(s.start) {
		n, err = from.Read(s.start[all:])
		all += n
	}
	text = bytes.Clone(s.start[:all])
	for err == nil {
		if len(text) == cap(text) {
			size := 2 * int64(cap(text)) // append may double it
			if more := size - charged; size >= memory.MinCharge && !s.k.Bodies.Memory.Take(more, size) {
				return kind, nil, charged, memory.ErrFull
			} else if size >= memory.MinCharge {
				charged = size
			}
			text = append(make([]byte, 0, size), text...)
		}
		n, err = from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if int64(len(text)) > s.k.Bodies.MaxBody {
			return kind, nil, charged, errTooBig
		}
	}
	if err == io.EOF {
		err = nil
	}
	return kind, text, charged, err
}

// broken ends a session of which no message can be read. false means that the client has left.
func (s *session) broken(err error) bool {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, errTooBig):
		return s.blame(websocket.CloseMessageTooBig, err.Error())
	case errors.Is(err, memory.ErrFull):
		return s.blame(closeCode(err), predict.ItemReason(memory.ErrFull))
	case errors.As(err, &timeout) && timeout.Timeout():
		return s.blame(websocket.ClosePolicyViolation, fmt.Sprintf("no item came for %s", s.k.StreamIdle))
	}
	return false
}

// blame ends the input by what the client has done wrong, with which the session closes.
func (s *session) blame(code int, reason string) bool {
	s.mu.Lock()
	s.fault = &closing{code, reason}
	s.mu.Unlock()
	s.in.End(reason)
	s.notify()
	return true
}

func closeCode(err error) int { return protocol.CloseCode(predict.RefusalOf(err).Kind) }

// cancel cancels the prediction, as its client asked.
func (s *session) cancel() {
	s.mu.Lock()
	p := s.p
	s.canceled = true
	s.mu.Unlock()
	if p != nil {
		p.Cancel()
	}
}
