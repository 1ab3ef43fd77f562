package httpd

import (
	"net"
	"strings"
	"testing"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

func TestLeaving_StreamCancels(t *testing.T) {
	for name, leave := range map[string]func(c *client){
		"close": func(c *client) { c.Close() },
		"half":  func(c *client) { c.Conn.(*net.TCPConn).CloseWrite() },
		"reset": func(c *client) { c.Conn.(*net.TCPConn).SetLinger(0); c.Close() },
	} {
		for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
			t.Run(name+" "+version, func(t *testing.T) {
				f := newFake()
				f.hold = true
				c := serve(t, f, Options{}).dial(t)
				c.send(strings.Replace(streamRequest("left"), "HTTP/1.1", version, 1))
				wait(t, f.started, "the prediction")
				c.follow().want("start", "")
				leave(c)
				assert.Equal(t, "canceled", wait(t, f.canceled, "the cancel"), "left")
				wait(t, f.released, "the release")
			})
		}
	}
}

// TestLeaving_WhileStalledCancels: the stream's goroutine is in a write that is not read.
func TestLeaving_WhileStalledCancels(t *testing.T) {
	f := newFake()
	f.hold = true
	f.runs = func(p *predict.Prediction) { p.Output(bigString(64 << 20)) }
	s := serve(t, f, Options{})
	c := s.dial(t)
	c.send(streamRequest("left"))
	wait(t, f.started, "the prediction")
	s.untilArmed(t, 1)
	c.Conn.(*net.TCPConn).CloseWrite()
	wait(t, f.canceled, "the cancel")
	wait(t, f.released, "the release")
}

func TestLeaving_LastSubscriberCancels(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{})
	first := s.dial(t)
	first.send(streamRequest("a"))
	p := wait(t, f.started, "the prediction")
	first.follow().want("start", "")
	var others []*client
	for range 3 {
		c := s.dial(t)
		c.send(ask("PUT", "/predictions/a", asStream, `{}`))
		c.follow().want("start", "")
		others = append(others, c)
	}
	s.untilArmed(t, 4)
	first.Close()
	s.untilArmed(t, 3)
	others[0].Close()
	others[1].Close()
	s.untilArmed(t, 1)
	p.Output([]byte("1")) // it goes on
	assert.EqualNow(t, "subscribers of the canceled one", len(f.canceled), 0)
	others[2].Close()
	wait(t, f.canceled, "the cancel")
	wait(t, f.released, "the release")
}

// TestLeaving_WhichDisconnectCancels: that of the client of a sync one and of one that still waits, and no other's.
func TestLeaving_WhichDisconnectCancels(t *testing.T) {
	for _, c := range []struct {
		name, request string
		answered      bool
		cancels       bool
	}{
		{"sync PUT", ask("PUT", "/predictions/a", asJSON, `{}`), false, true},
		{"while it waits", ask("POST", "/predictions", prefer("wait=600"), `{"id":"a"}`), false, true},
		{"after it waited", ask("POST", "/predictions", prefer("wait=0"), `{"id":"a"}`), true, false},
		{"async", ask("POST", "/predictions", prefer("respond-async"), `{"id":"a"}`), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			f.hold = true
			s := serve(t, f, Options{})
			creator, joiner := s.dial(t), s.dial(t)
			creator.send(c.request)
			p := wait(t, f.started, "the prediction")
			// A client that joined cancels nothing.
			joiner.send(ask("PUT", "/predictions/a", asStream, `{}`))
			joiner.follow().want("start", "")
			if c.answered {
				creator.want(202)
				s.untilArmed(t, 1)
			} else {
				s.untilArmed(t, 2)
			}
			joiner.Close()
			assert.Eventually(t, "the joiner's end", func() bool { return s.open() == 1 })
			creator.Close()
			if c.cancels {
				wait(t, f.canceled, "the cancel")
			} else {
				assert.Eventually(t, "the creator's end", func() bool { return s.open() == 0 })
				f.finish(p)
			}
			wait(t, f.released, "the release")
			assert.True(t, c.cancels == (p.Record().Status == predict.Canceled),
				"it ended %s: got %t, want %t", p.Record().Status, c.cancels, p.Record().Status == predict.Canceled)
		})
	}
}

// open returns how many connections the server has.
func (s *site) open() int { return s.transport.Stats().Open }
