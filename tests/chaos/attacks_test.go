package chaos

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/health/grpc_health_v1"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/harness"
	"pinion/tests/rawgrpc"
)

const (
	// attackers is how many connections an attack has: more than the server takes with attackedDescriptors.
	attackers           = 700
	attackedDescriptors = 1024
	// attackedBudget is the server's memory budget in MiB, and attackedMemory what it may have in all.
	attackedBudget = 64
	attackedMemory = 2*attackedBudget + 128
)

// attack is a kind of hostile clients, who stay until the test ends.
type attack struct {
	name   string
	strike func(t *testing.T, s *harness.Server)
}

// attacks are what clients without a token can do.
func attacks(webhooks string) []attack {
	const head = "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	return []attack{
		{"idle connections", half("")},
		{"half first lines", half("POST /pred")},
		{"half headers", half(head + "X: " + strings.Repeat("x", 20_000))},
		{"half bodies", half(head + "Content-Length: 8000000\r\n\r\n{" + strings.Repeat(" ", 20_000))},
		{"half chunks", half(head + "Transfer-Encoding: chunked\r\n\r\nfffff\r\n{")},
		{"half requests behind whole ones", half("GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /")},
		{"half gRPC messages", calls(func(c *rawgrpc.Client) {
			c.Announce(c.Call(pb.GRPCInferenceService_ModelInfer_FullMethodName), 8<<20, make([]byte, 1000))
		})},
		{"gRPC metadata", calls(func(c *rawgrpc.Client) {
			c.Open(grpc_health_v1.Health_Watch_FullMethodName, 30_000,
				hpack.HeaderField{Name: "x", Value: strings.Repeat("v", 1000)})
		})},
		{"gRPC watches", calls(func(c *rawgrpc.Client) {
			for range 20 {
				c.Message(c.Call(grpc_health_v1.Health_Watch_FullMethodName), nil)
			}
		})},
		{"webhooks that no receiver takes", func(t *testing.T, s *harness.Server) {
			for i := range 30 {
				body := fmt.Sprintf(`{"input":{"token":"%016x"},"webhook":"%s/%s"}`, i, webhooks, strings.Repeat("x", 10_000))
				s.Do(http.MethodPost, "/predictions", []byte(body), "Prefer", "respond-async")
			}
		}},
	}
}

// half begins as many requests as there are attackers, and ends none.
func half(request string) func(*testing.T, *harness.Server) {
	return func(t *testing.T, s *harness.Server) {
		for range attackers {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.Address, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			_, _ = io.WriteString(conn, request) // it may have been closed already
		}
	}
}

// calls makes gRPC calls on as many connections as there are attackers.
func calls(call func(*rawgrpc.Client)) func(*testing.T, *harness.Server) {
	return func(t *testing.T, s *harness.Server) {
		for range attackers {
			call(rawgrpc.Dial(t, s.GRPCAddress()))
		}
	}
}

// silentServer is the address of a server that takes connections and never answers.
func silentServer(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return "http://" + ln.Addr().String()
}

// TestAttacks: hostile clients come one kind after another and stay, while the collector of traces is dead. Everyone
// else is served, a worker that dies is replaced, the front keeps within its memory, and it stops when it is told to.
func TestAttacks(t *testing.T) {
	harness.Full(t)
	dead := silentServer(t)
	o := harness.Options{
		Model: "chaos.py:Plain", CutsOff: true,
		Args: []string{
			"--grpc-port=0", fmt.Sprintf("--memory-budget=%dMiB", attackedBudget), "--grace=2s", "--cancel-grace=1s",
			"--queue=100",
		},
		Env:  []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + dead, "OTEL_TRACES_SAMPLER=always_on"},
		Wrap: []string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, attackedDescriptors), "sh"},
	}
	if _, enter, ok := harness.MemoryGroup(t, 2*attackedMemory<<20); ok && !harness.Sanitized(t) {
		o.Wrap = append(o.Wrap, enter...)
	} else {
		t.Log("no control group can be made: the kernel would not end the front")
	}
	s := harness.Ready(t, o)
	for _, a := range attacks(dead) {
		a.strike(t, s)
		s.CloseIdle() // the attack has taken their places
		served(t, s, a.name)
		before := s.Worker()
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, a.name+": the worker is replaced", func() bool {
			h := s.Health()
			return h.Status == "READY" && h.Workers[0].PID != before
		})
		served(t, s, a.name+", with another worker")
	}
	if most := harness.PeakResident(t, s.PID) >> 20; most > attackedMemory && !harness.Sanitized(t) {
		t.Errorf("the front had %d MiB, want at most %d", most, attackedMemory)
	}
	s.Signal(syscall.SIGTERM)
	s.Ended(0)
}

// served asks for what a client and a platform ask for.
func served(t *testing.T, s *harness.Server, during string) {
	t.Helper()
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for k := range 5 {
				q := request{
					id:    fmt.Sprintf("%s-%d-%d", strings.ReplaceAll(during, " ", "-"), i, k),
					token: fmt.Sprintf("%08x%08x", i, k), items: -1,
				}
				a := s.Do(http.MethodPost, "/predictions", q.body(""), "Connection", "close")
				if a.Err != nil || a.Code != http.StatusOK || a.Status != "succeeded" {
					t.Errorf("%s: got %.300s %v, want a prediction", during, a.Body, a.Err)
				}
			}
		})
	}
	group.Wait()
	harness.Eventually(t, during+": /livez is answered", func() bool {
		a := s.Do(http.MethodGet, "/livez", nil, "Connection", "close")
		return a.Err == nil && a.Code == http.StatusOK
	})
}
