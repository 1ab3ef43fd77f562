package api

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/harness"
	"pinion/tests/rawgrpc"
)

// withDescriptors starts the server with so many descriptors, of which the soft limit allows half.
func withDescriptors(n int) []string {
	return []string{"sh", "-c", fmt.Sprintf(`ulimit -Sn %d && ulimit -Hn %d && exec "$@"`, n/2, n), "sh"}
}

// TestConnections_LeaveDescriptorsForServer: more idle connections than the process may open, at every port, keep
// neither requests, probes nor a new worker from what they need.
func TestConnections_LeaveDescriptorsForServer(t *testing.T) {
	t.Parallel()
	descriptors := 1024
	if harness.IsFull() {
		descriptors = 2048
	}
	s := harness.Ready(t, harness.Options{
		Model: "dying.py:Runner", Args: []string{"--grpc-port=0", "--metrics-port=0"}, Wrap: withDescriptors(descriptors),
	})
	monitor := strings.TrimPrefix(s.WaitLog("serving metrics and probes").MetricsAddress, "http://")
	main := strings.TrimPrefix(s.Address, "http://")
	limit := s.Health().Connections.Limit
	assert.True(t, limit <= descriptors-256 && limit >= descriptors/4,
		"got a limit of %d connections with %d descriptors, want at most %d and at least %d", limit, descriptors,
		descriptors-256, descriptors/4)
	for _, address := range []string{main, s.GRPCAddress(), monitor} {
		before := s.Worker()
		for i := range descriptors + descriptors/20 {
			c := assert.Must(net.Dial("tcp", address))(t)
			defer c.Close()
			if i%2 == 0 && address == s.GRPCAddress() {
				_, _ = io.WriteString(c, http2.ClientPreface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
			}
		}
		for _, at := range []string{main, monitor} {
			answer, err := http.Get("http://" + at + "/livez")
			assert.TrueNow(t, err == nil && answer.StatusCode == http.StatusOK,
				"/livez at %s, with the connections at %s: %v %v, want StatusCode 200", at, address, answer, err)
			answer.Body.Close()
		}
		assert.Eventually(t, "ServerLive, with the connections at "+address, func() bool {
			conn, client := s.GRPC()
			defer conn.Close()
			_, err := client.ServerLive(t.Context(), &pb.ServerLiveRequest{})
			return err == nil
		})
		assert.NoError(t, syscall.Kill(before, syscall.SIGKILL))
		assert.Eventually(t, "the worker is replaced",
			func() bool { h := s.Health(); return h.Status == "READY" && h.Workers[0].PID != before })
		s.Succeed(harness.Input{})
	}
	c := s.Health().Connections
	assert.True(t, c.Open <= limit+64 && c.Evicted >= uint64(descriptors),
		"got %+v, want at most %d open, and idle ones evicted", c, limit)
	page := assert.Must(http.Get("http://" + monitor + "/metrics"))(t)
	defer page.Body.Close()
	text, _ := io.ReadAll(page.Body)
	assert.Contains(t, "the metrics", string(text), "pinion_connections ",
		fmt.Sprintf("pinion_connections_limit %d", limit),
		"pinion_connections_evicted_total ", "pinion_connections_refused_total ")
}

// TestHalfHeaders_AreWithinBudget: thousands of clients that stop within their headers.
func TestHalfHeaders_AreWithinBudget(t *testing.T) {
	t.Parallel()
	many := 2500
	if harness.IsFull() {
		many = 8000
	}
	s := harness.Ready(t, harness.Options{Model: "echo.py:text", Args: []string{"--memory-budget=32MiB", "--grpc-port=0"}})
	before := harness.PeakResident(t, s.PID)
	half := "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 31<<10)
	for range many {
		c := s.Dial()
		defer c.Close()
		_, _ = io.WriteString(c, half)
	}
	s.Succeed(harness.Input{"text": strings.Repeat("x", 300_000)})
	if grown, most := harness.PeakResident(t, s.PID)-before, 4*32<<20; grown > most && !harness.Sanitized(t) {
		t.Errorf("the front had %d MiB more, want at most %d", grown>>20, most>>20)
	}
}

// TestAnnouncedBodies_KeepNobodyOut: clients of each port announce bodies and stop; others are served.
func TestAnnouncedBodies_KeepNobodyOut(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "echo.py:text", Args: []string{"--memory-budget=64MiB", "--grpc-port=0", "--grace=2s"},
	})
	drip := make(chan struct{})
	defer close(drip)
	for range 8 {
		c := rawgrpc.Dial(t, s.GRPCAddress())
		c.Announce(c.Call(pb.GRPCInferenceService_ModelInfer_FullMethodName), 8<<20, make([]byte, 60_000))
		body := s.Dial()
		_, _ = fmt.Fprintf(body, "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", 8<<20, strings.Repeat(" ", 100_000))
		go func() { // 5 kB/s
			defer body.Close()
			for tick := time.NewTicker(200 * time.Millisecond); ; {
				select {
				case <-drip:
					tick.Stop()
					return
				case <-tick.C:
					_, _ = body.Write([]byte(strings.Repeat(" ", 1000)))
				}
			}
		}()
	}
	assert.Eventually(t, "they hold memory",
		func() bool { used, _, _ := harness.MemoryBudget(t, s); return used > 20<<20 })
	for range 3 {
		s.Succeed(harness.Input{"text": strings.Repeat("x", 300_000)})
	}
}

// TestAnnouncedMessages_GiveWay: many gRPC clients begin a message each and stop. Their calls and connections take most
// of the memory budget, until others need it.
func TestAnnouncedMessages_GiveWay(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "echo.py:text", Args: []string{"--memory-budget=16MiB", "--grpc-port=0", "--grace=2s"},
	})
	for range 120 {
		c := rawgrpc.Dial(t, s.GRPCAddress())
		c.Announce(c.Call(pb.GRPCInferenceService_ModelInfer_FullMethodName), 8<<20, make([]byte, 1000))
	}
	assert.Eventually(t, "they hold more than is for new bodies",
		func() bool { used, _, _ := harness.MemoryBudget(t, s); return used > 9<<20 })
	s.Succeed(harness.Input{"text": strings.Repeat("x", 300_000)})
}

// TestUnreadStreams_GiveWay: clients of streams that read nothing take most of the memory budget, until others need it.
func TestUnreadStreams_GiveWay(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", harness.HoarderModel), Model: "run.py:Runner", CutsOff: true,
		Args: []string{"--memory-budget=16MiB", "--grace=2s", "--queue=1"}, // for the last request, while the first one runs
	})
	const body = `{"input":{"n":1000,"size":400}}`
	for range 350 { // more than are left alone
		c := s.Dial()
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		_, _ = fmt.Fprintf(c, "PUT /predictions/unread HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	assert.Eventually(t, "they hold more than is for new bodies",
		func() bool { used, _, _ := harness.MemoryBudget(t, s); return used > 9<<20 })
	s.Succeed(harness.Input{"text": strings.Repeat("x", 300_000)})
}
