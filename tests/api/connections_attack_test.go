package api

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/runtime/connlimit"
	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestConnections_NewOnesAreServed: while another address connects without end and holds what it has, a client that
// connects anew for each request is answered each time.
func TestConnections_NewOnesAreServed(t *testing.T) {
	harness.Full(t) // it takes all there is of a small machine
	s := harness.Ready(t, harness.Options{
		Model: "echo.py:text", CutsOff: true, Args: []string{"--grpc-port=0", "--queue=100"}, Wrap: withDescriptors(768),
	})
	limit := s.Health().Connections.Limit
	main := strings.TrimPrefix(s.Address, "http://")
	const head = "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n"
	for _, c := range []struct{ name, address, text string }{
		{"silence", main, ""},
		{"half first lines", main, "POST /pre"},
		{"half bodies", main, head + strings.Repeat(" ", 5000)},
		{"keep-alive", main, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"gRPC without calls", s.GRPCAddress(), http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
	} {
		stop, begun := make(chan struct{}), make(chan struct{}, 2)
		var attackers sync.WaitGroup
		for range cap(begun) {
			attackers.Go(func() { holdWithoutEnd(t, c.address, c.text, limit, begun, stop) })
		}
		for range cap(begun) {
			<-begun
		}
		for i := range 10 {
			answered(t, c.name, func() error {
				a := s.Do(http.MethodPost, "/predictions", fmt.Sprintf(`{"input":{"text":"%d"}}`, i), "Connection", "close")
				assert.True(t, a.Err != nil || a.Status == "succeeded",
					"%s: request %d: got %.200s, want a prediction", c.name, i, a.Body)
				return a.Err
			})
		}
		answered(t, c.name, func() error {
			conn, client := s.GRPC()
			defer conn.Close()
			_, err := client.ServerLive(t.Context(), &pb.ServerLiveRequest{})
			return err
		})
		close(stop)
		attackers.Wait()
	}
	got := s.Health().Connections
	assert.True(t, got.Evicted >= uint64(limit), "got %+v, want the attackers' evicted", got)
}

// answered calls ask, which connects and asks, until it is answered. It must be at once, unless this machine is so busy that
// the connection was older than connlimit.NewGrace when it was closed.
func answered(t *testing.T, name string, ask func() error) {
	t.Helper()
	assert.Eventually(t, name+": an answer", func() bool {
		began := time.Now()
		err := ask()
		assert.True(t, err == nil || time.Since(began) >= connlimit.NewGrace, "%s: got %v, want an answer", name, err)
		return err == nil
	})
}

// holdWithoutEnd opens connections, sends the text on each, and holds the last ones. It has begun when it has opened as
// many as the server takes.
func holdWithoutEnd(t *testing.T, address, text string, most int, begun chan<- struct{}, stop <-chan struct{}) {
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}} // another client
	held := make([]net.Conn, most)
	defer func() {
		for _, conn := range held {
			if conn != nil {
				conn.Close()
			}
		}
	}()
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		conn, err := from.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			begun <- struct{}{}
			return
		}
		_, _ = io.WriteString(conn, text) // it may have been closed already
		if old := held[i%most]; old != nil {
			_ = old.(*net.TCPConn).SetLinger(0) // its port is free at once
			old.Close()
		}
		if held[i%most] = conn; i == most {
			begun <- struct{}{}
		}
	}
}
