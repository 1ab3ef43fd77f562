package httpd

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/httpd/transport"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// armedNow counts the connections in the epoll set.
func (s *site) armedNow() int { return s.transport.Stats().Armed }

// untilArmed waits until n requests are watched by the kernel.
func (s *site) untilArmed(t *testing.T, n int) {
	t.Helper()
	assert.Eventually(t, fmt.Sprintf("%d armed watches", n), func() bool { return s.armedNow() == n })
}

func TestDisconnect_LeavingCancels(t *testing.T) {
	for name, leave := range map[string]func(c *client){
		"close": func(c *client) { c.Close() },
		"half":  func(c *client) { c.Conn.(*net.TCPConn).CloseWrite() },
		"reset": func(c *client) { c.Conn.(*net.TCPConn).SetLinger(0); c.Close() },
		"close behind another request": func(c *client) {
			c.post(`{"id":"never read"}`)
			c.Close()
		},
		// More than the socket's buffers hold: the end of the connection comes after it.
		"close behind much": func(c *client) {
			c.send(strings.Repeat("x", 3<<20))
			c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.hold = true
			s := serve(t, f, Options{})
			c := s.dial(t)
			c.post(`{"id":"left"}`)
			wait(t, f.started, "the prediction")
			leave(c)
			assert.Equal(t, "canceled", wait(t, f.canceled, "the cancel"), "left")
			wait(t, f.released, "the release")
		})
	}
}

func TestDisconnect_LeavingUnixSocketCancels(t *testing.T) {
	ln := assert.Must(net.Listen("unix", t.TempDir()+"/s"))(t)
	f := newFake()
	f.hold = true
	serveOn(t, f, Options{}, ln)
	c := assert.Must(net.Dial("unix", ln.Addr().String()))(t)
	c.Write([]byte(postRequest(`{"id":"left"}`)))
	wait(t, f.started, "the prediction")
	c.Close()
	wait(t, f.canceled, "the cancel")
}

func TestDisconnect_StayingDoesNotCancel(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{})
	stays, talks, leaves := s.dial(t), s.dial(t), s.dial(t)
	byID := map[string]*predict.Prediction{}
	for id, c := range map[string]*client{"stays": stays, "talks": talks, "leaves": leaves} {
		c.post(`{"id":"` + id + `"}`)
		byID[id] = wait(t, f.started, id)
	}
	s.untilArmed(t, 3)
	talks.post(`{"id":"behind"}`) // data on a watched connection is the next request
	leaves.Close()
	assert.EqualNow(t, "canceled", wait(t, f.canceled, "the cancel"), "leaves")
	f.finish(byID["stays"])
	f.finish(byID["talks"])
	_, body := stays.want(200)
	assert.True(t, strings.Contains(body, "succeeded"), `got %q, want it to contain "succeeded"`, body)
	// Behind comes the pipelined request, on the same connection.
	f.finish(wait(t, f.started, "the pipelined prediction"))
	for range 2 {
		_, body := talks.want(200)
		assert.True(t, strings.Contains(body, "succeeded"), `got %q, want it to contain "succeeded"`, body)
	}
	assert.Equal(t, "other canceled calls", len(f.canceled), 0)
}

func TestDisconnect_WatchFollowsConnection(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{})
	c := s.dial(t)
	for i := range 3 { // each is armed, and ends
		c.post(fmt.Sprintf(`{"id":"stays-%d"}`, i))
		p := wait(t, f.started, "the prediction")
		s.untilArmed(t, 1)
		f.finish(p)
		c.want(200)
		s.untilArmed(t, 0)
	}
	c.post(`{"id":"left"}`)
	wait(t, f.started, "the prediction")
	c.Close()
	assert.Equal(t, "canceled", wait(t, f.canceled, "the cancel"), "left")
}

func TestDisconnect_ThousandConnections(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < 2200 {
		t.Skipf("needs 2200 descriptors, may have %d", limit.Cur)
	}
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{})
	const n = 1000
	clients := make(map[string]*client, n)
	running := make(map[string]*predict.Prediction, n)
	for i := range n {
		id := fmt.Sprintf("p%d", i)
		clients[id] = s.dial(t)
		clients[id].post(`{"id":"` + id + `"}`)
	}
	for range n {
		p := wait(t, f.started, "a prediction")
		running[p.ID()] = p
	}
	s.untilArmed(t, n)
	leaves := func(id string) bool { return id[len(id)-1]%2 == 0 }
	for id, c := range clients {
		if leaves(id) {
			c.Close()
		}
	}
	for range n / 2 {
		id := wait(t, f.canceled, "a cancel")
		assert.TrueNow(t, leaves(id), "%s was canceled, and its client stayed, want leaves(id) true", id)
		delete(running, id)
	}
	for id, p := range running {
		f.finish(p)
		if _, body := clients[id].want(200); !strings.Contains(body, `"id":"`+id+`","status":"succeeded"`) {
			t.Fatalf("%s: %s, want it to contain %q", id, body, `"id":"`+id+`","status":"succeeded"`)
		}
	}
	assert.Equal(t, "more canceled", len(f.canceled), 0)
	s.untilArmed(t, 0)
}

// aheadNow returns how much was read ahead and not taken.
func (s *site) aheadNow() int { return s.transport.Stats().ReadAhead }

// TestDisconnect_WhatIsReadAheadIsServed: requests that come behind one that runs are answered in their turn, within
// the bounds of reading ahead and beyond them, and nothing of them is kept when the connection is gone.
func TestDisconnect_WhatIsReadAheadIsServed(t *testing.T) {
	big := `{"id":"second","input":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`
	for _, most := range []int{8 << 20, 1 << 16, 10, -1} {
		f := newFake()
		f.hold = true
		s := serve(t, f, Options{conns: transport.Options{ReadAhead: most}})
		c := s.dial(t)
		c.post(`{"id":"first"}`)
		first := wait(t, f.started, "the first prediction")
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			io.WriteString(c.Conn, postRequest(big)+postRequest(`{"id":"third"}`)) // an answer that is missing fails the test
		}()
		assert.Eventually(t, "the bytes behind it are read ahead", func() bool { return s.aheadNow() >= min(most, len(big)) })
		f.finish(first)
		for _, id := range []string{"second", "third"} { // an answer may wait for the next, if that was read with its body
			p := wait(t, f.started, id)
			assert.False(t, id == "second" && len(p.Request.Input) < 1<<20,
				"its input has %d bytes, want at least %d bytes", len(p.Request.Input), 1<<20)
			f.finish(p)
		}
		for _, id := range []string{"first", "second", "third"} {
			_, body := c.want(200)
			assert.True(t, strings.Contains(body, id), "the answer to %s is %s, want its own", id, body)
		}
		wait(t, sent, "the client's writing")
		// Bytes that are never taken are dropped.
		c.post(`{"id":"fourth"}`)
		p := wait(t, f.started, "the fourth prediction")
		c.send("Connection: close, in a way that is no request\n")
		assert.Eventually(t, "the rubbish is read ahead", func() bool { return s.aheadNow() > 0 || most < 0 })
		f.finish(p)
		c.want(200)
		c.want(400)
		c.ended()
		assert.Eventually(t, "nothing is kept", func() bool { return s.aheadNow() == 0 })
	}
}
