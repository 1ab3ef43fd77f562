package ventu

import (
	"io"
	"net"
	"testing"
	"time"

	"pinion/runtime/connlimit"
	"pinion/tests/assert"
)

// TestServe_SilentConnectionsMakeRoom: those that have not said that they are ready keep no worker out.
func TestServe_SilentConnectionsMakeRoom(t *testing.T) {
	limit := connlimit.New(2)
	q := New(Options{Connections: limit})
	ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	served := make(chan error, 1)
	go func() { served <- q.Serve(ln) }()
	var conns []net.Conn
	for i := range 3 {
		assert.Eventually(t, "those before it are served", func() bool { return len(q.silent()) == i })
		conn := assert.Must(net.Dial("tcp", ln.Addr().String()))(t)
		defer conn.Close()
		conns = append(conns, conn)
	}
	closed := make(chan error, len(conns))
	for _, conn := range conns {
		go func() {
			_, err := conn.Read(make([]byte, 1))
			closed <- err
		}()
	}
	select {
	case err := <-closed:
		assert.Equal(t, "err", err, io.EOF)
	case <-time.After(time.Minute):
		t.Error("got no connection closed within a minute, want one")
	}
	s := limit.Stats()
	assert.True(t, s.Refused == 0, "got %+v, want none refused", s)
	q.Close()
	assert.Equal(t, "error", <-served, nil)
	for range 2 {
		<-closed
	}
}

// TestServe_ClosedConnectionIsNoWorker, though it says that it is ready at that moment: it gets no batch, and has no
// fault counted.
func TestServe_ClosedConnectionIsNoWorker(t *testing.T) {
	q := New(Options{})
	ours, theirs := net.Pipe()
	defer theirs.Close()
	var place connlimit.Place
	connlimit.New(1).Enter(&place)
	w := &worker{q: q, conn: ours, place: &place}
	assert.True(t, w.CloseIdle() && !w.CloseIdle(),
		"a silent connection was not closed once: CloseIdle = false, want true, then false")
	q.arrive(w)
	assert.True(t, len(q.workers) == 0 && len(q.idle) == 0 && w.phase == workerFresh,
		"got %d workers, %d of them idle, want none", len(q.workers), len(q.idle))
	busy := &worker{q: q, conn: ours, place: new(connlimit.Place), phase: workerIdle}
	assert.False(t, busy.CloseIdle(), "a worker was closed")
}
