package httpd

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pinion/httpd/answers"
	"pinion/httpd/transport"
	"pinion/runtime/connlimit"
	"pinion/tests/assert"
)

func TestConn_SilentClientsAreClosed(t *testing.T) {
	s := serve(t, newFake(), Options{HeaderTimeout: 20 * time.Millisecond})

	silent := s.dial(t)
	silent.want(408)
	silent.ended()

	half := s.dial(t)
	half.send("POST /predictions HTTP/1.1\r\nHost: x\r\n")
	half.want(408)
	half.ended()

	slow := s.dial(t)
	slow.send("POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
	_, body := slow.want(408)
	assert.True(t, strings.Contains(body, "detail"), `got %q, want it to contain "detail"`, body)
	slow.ended()

	idle := serve(t, newFake(), Options{IdleTimeout: time.Second}).dial(t)
	idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	idle.want(200)
	idle.ended()
}

func TestConn_StalledReaderIsGivenUp(t *testing.T) {
	f := newFake()
	f.result.Output = bigString(64 << 20)
	s := serve(t, f, Options{WriteTimeout: 50 * time.Millisecond})
	c := s.dial(t)
	c.post(`{"id":"stalled"}`)
	wait(t, f.released, "the release of an answer that is not read")
}

// failingListener returns errors before it accepts.
type failingListener struct {
	net.Listener
	errs []error
	n    atomic.Int32
}

func (l *failingListener) Accept() (net.Conn, error) {
	if i := int(l.n.Add(1)) - 1; i < len(l.errs) {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", l.errs[i])}
	}
	return l.Listener.Accept()
}

func TestConn_AcceptSurvivesShortage(t *testing.T) {
	ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := serveOn(t, newFake(), Options{},
		&failingListener{Listener: ln, errs: []error{syscall.EMFILE, syscall.ECONNABORTED}})
	c := s.dial(t)
	c.post(`{}`)
	c.want(200)
}

func TestConn_AcceptEndsWithItsListener(t *testing.T) {
	ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := serveOn(t, newFake(), Options{}, &failingListener{Listener: ln, errs: []error{syscall.EBADF}})
	assert.ErrorIs(t, "Serve", wait(t, s.served, "the end of Serve"), syscall.EBADF)
}

func TestConn_OneConnectionTooMany(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{Connections: connlimit.New(2)})
	for i := range 2 {
		s.dial(t).post(fmt.Sprintf(`{"id":"p%d"}`, i))
		defer f.finish(wait(t, f.started, "a prediction"))
	}
	assert.Eventually(t, "both are in use", func() bool { return s.open() == 2 && len(s.transport.Idle()) == 0 })
	third := s.dial(t)
	third.post(`{}`)
	resp, body := third.want(503)
	assert.Equal(t, `resp.Header.Get("Content-Type")`, resp.Header.Get("Content-Type"), "application/json")
	assert.Equal(t, "Retry-After", resp.Header.Get(answers.HeaderRetry), answers.Elsewhere)
	assert.Equal(t, "body", body, `{"detail":"Too many connections"}`)
	third.ended()
}

// TestConnections_OldestIdleIsClosed: also parked ones, and those that never sent a byte; one in use stays.
func TestConnections_OldestIdleIsClosed(t *testing.T) {
	for _, parkAbove := range []int{-1, 100} {
		s := serve(t, newFake(), Options{Connections: connlimit.New(4), conns: transport.Options{ParkAbove: parkAbove}})
		busy := s.dial(t)
		busy.send("POST /predictions HTTP/1.1\r\n")
		assert.Eventually(t, "the first sends its request",
			func() bool { return s.open() == 1 && len(s.transport.Idle()) == 1 })
		silent := s.dial(t)
		assert.Eventually(t, "the second is idle", func() bool { return len(s.transport.Idle()) == 2 })
		used := s.dial(t)
		for i := range 3 {
			used.post(`{}`)
			used.want(200)
			if i == 0 {
				s.dial(t)
				assert.Eventually(t, "four are open", func() bool { return s.open() == 4 })
			}
		}
		assert.Eventually(t, "the second has been idle for a while", func() bool {
			return slices.ContainsFunc(s.transport.Idle(), func(c connlimit.Idle) bool {
				return !c.Receiving && time.Since(c.Since) > connlimit.NewGrace
			})
		})
		last := s.dial(t)
		last.post(`{}`)
		last.want(200)
		silent.ended()
		busy.send("Host: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		busy.want(200)
		if got := s.opt.Connections.Stats(); got.Evicted != 1 || got.Refused != 0 || got.Open != 4 {
			t.Errorf("parking above %d: got %+v, want 1 evicted and 4 open", parkAbove, got)
		}
	}
}

// TestConnections_ReceivingOnesMakeRoom: clients that stop within a request keep no others out. One that has sent more
// than they, and one with a whole request, stay.
func TestConnections_ReceivingOnesMakeRoom(t *testing.T) {
	const head = "PUT /predictions/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for what, part := range map[string]string{
		"a first line":   "POST /pred",
		"a header":       head,
		"a body":         head + "Content-Length: 100\r\n\r\n{",
		"a chunked body": head + "Transfer-Encoding: chunked\r\n\r\n64\r\n{",
		"a form": strings.Replace(head, "application/json", "multipart/form-data; boundary=b", 1) +
			"Content-Length: 100\r\n\r\n--b",
	} {
		t.Run(what, func(t *testing.T) {
			f := newFake()
			f.hold = true
			s := serve(t, f, Options{Connections: connlimit.New(8)})
			works, sends := s.dial(t), s.dial(t)
			works.post(`{}`)
			running := wait(t, f.started, "the prediction of the whole request")
			const most = 1 << 20
			sends.send(fmt.Sprintf("%sContent-Length: %d\r\n\r\n{%s", head, most, strings.Repeat(" ", most/2)))
			for range 6 {
				s.dial(t).send(part)
			}
			assert.Eventually(t, "all places are taken", func() bool { return s.open() == 8 && len(s.transport.Idle()) == 7 })
			assert.Eventually(t, "the large body counts, and the others have had their time", func() bool {
				large, stopped := 0, 0
				for _, c := range s.transport.Idle() {
					if age := time.Since(c.Since); age < -time.Minute {
						large++
					} else if c.Receiving && age > connlimit.NewGrace {
						stopped++
					}
				}
				return large == 1 && stopped == 6
			})
			last := s.dial(t)
			last.send(homeRequest)
			last.want(200)
			got := s.opt.Connections.Stats()
			assert.True(t, got.Evicted == 1 && got.Refused == 0, "got %+v, want one evicted and none refused", got)
			sends.send(strings.Repeat(" ", most-most/2-2) + "}")
			f.finish(wait(t, f.started, "the prediction of the large body"))
			sends.want(200)
			f.finish(running)
			works.want(200)
		})
	}
}
