package httpd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// shut begins a shutdown and returns a channel for its result.
func (s *site) shut(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(ctx) }()
	return done
}

func TestShutdown_FinishesWhatIsInFlight(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{})
	idle, fresh, busy, piped := s.dial(t), s.dial(t), s.dial(t), s.dial(t)
	idle.send("GET /nope HTTP/1.1\r\nHost: x\r\n\r\n")
	idle.want(404)
	busy.post(`{"id":"busy"}`)
	p := wait(t, f.started, "the prediction")
	piped.send(postRequest(`{"id":"piped"}`) + "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	q := wait(t, f.started, "the prediction with another request behind it")

	done := s.shut(context.Background())
	idle.ended()
	fresh.ended()
	err := wait(t, s.served, "the end of Serve")
	assert.True(t, err == nil, "Serve: got %v, want no error", err)
	if nc, err := net.Dial("tcp", s.addr); err == nil {
		nc.Close()
		t.Error("the server still accepts")
	}
	select {
	case err := <-done:
		t.Fatalf("Shutdown returned %v with requests in flight, want it to wait", err)
	default:
	}
	f.finish(p)
	f.finish(q)
	for _, c := range []*client{busy, piped} {
		resp, body := c.want(200)
		assert.True(t, resp.Close && strings.Contains(body, `"status":"succeeded"`),
			"Close %v, %s, want true and a text with %q", resp.Close, body, `"status":"succeeded"`)
		c.ended()
		c.Close()
	}
	err = wait(t, done, "the end of Shutdown")
	assert.True(t, err == nil, "Shutdown: got %v, want no error", err)
	err = s.Shutdown(context.Background())
	assert.True(t, err == nil, "a second Shutdown: got %v, want no error", err)
}

func TestShutdown_GivesUpWithItsContext(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{})
	c := s.dial(t)
	c.post(`{"id":"long"}`)
	p := wait(t, f.started, "the prediction")
	ctx, cancel := context.WithCancel(context.Background())
	done := s.shut(ctx)
	wait(t, s.served, "the end of Serve")
	cancel()
	assert.ErrorIs(t, "Shutdown", wait(t, done, "the end of Shutdown"), context.Canceled)
	f.finish(p) // it was not canceled
	c.want(200)
}

func TestShutdown_ServeAfterShutdown(t *testing.T) {
	s := New(always{newFake()}, Options{})
	assert.NoError(t, s.Shutdown(context.Background()))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	err = s.Serve(ln)
	assert.True(t, err == nil, "Serve: got %v, want no error", err)
	_, err = ln.Accept()
	assert.ErrorIs(t, "the listener is open", err, net.ErrClosed)
}

func TestShutdown_UnderLoadLosesNothing(t *testing.T) {
	f := newFake()
	s := serve(t, f, Options{})
	began := make(chan struct{}, 1)
	f.runs = func(*predict.Prediction) {
		select {
		case began <- struct{}{}:
		default:
		}
	}
	const clients = 8
	ends := make(chan error, clients)
	for range clients {
		c := s.dial(t)
		go func() { ends <- hammer(c) }()
	}
	wait(t, began, "the first request")
	err := wait(t, s.shut(context.Background()), "the end of Shutdown")
	assert.True(t, err == nil, "Shutdown: got %v, want no error", err)
	for range clients {
		assert.ErrorIs(t, "the end of a client", wait(t, ends, "the end of a client"), nil)
	}
}

// hammer sends requests until the server closes, and reports an answer that is cut short. A close
// between two answers is not a fault: HTTP/1.1 has no way to warn of it.
func hammer(c *client) error {
	for {
		if _, err := c.Conn.Write([]byte(postRequest(`{"id":"h"}`))); err != nil {
			return nil
		}
		line, err := c.br.ReadString('\n')
		if err != nil && line == "" {
			return nil
		}
		length, closing := 0, false
		for err == nil && line != "\r\n" {
			if line, err = c.br.ReadString('\n'); line == "Connection: close\r\n" {
				closing = true
			} else if strings.HasPrefix(line, "Content-Length: ") {
				for _, d := range strings.TrimSpace(line[len("Content-Length: "):]) {
					length = length*10 + int(d-'0')
				}
			}
		}
		if err != nil {
			return errors.New("an answer's header was cut short")
		}
		if n, err := c.br.Discard(length); err != nil || length == 0 {
			return fmt.Errorf("an answer's body has %d bytes of %d", n, length)
		}
		if closing {
			return nil
		}
	}
}
