package chaos

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/health/grpc_health_v1"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/harness"
	"pinion/tests/rawgrpc"
)

const (
	// attackers is how many connections an attack has: more than the server takes with attackedDescriptors.
	attackers           = 700
	attackedDescriptors = 1024
	// spareDescriptors is how many of them the server is to keep for workers, files and logs.
	spareDescriptors = 256
	// watchesEach is how many Watch calls an attacker begins: if the server took all, they would exceed attackedMemory.
	watchesEach = 100
	// attackedBudget is the server's memory budget in MiB, and attackedMemory what it may have in all.
	attackedBudget = 64
	attackedMemory = 2*attackedBudget + 128
)

// attack is a kind of hostile clients, who stay until the test ends.
type attack struct {
	name   string
	strike func(t *testing.T, s *harness.Server)
	// after is called when all attacks have begun: it waits for the outcome of this one. It may be nil.
	after func(t *testing.T, s *harness.Server)
}

// attacks returns what clients without a token can do.
func attacks(t *testing.T) []attack {
	const head = "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	const announced = head + "Content-Length: 8000000\r\n\r\n{"
	silent, files := harness.SilentServer(t), dripServer(t)
	return []attack{
		{"downloads that drip", downloads(files), endDownloads},
		{"idle connections", half(""), nil},
		{"half first lines", half("POST /pred"), nil},
		{"half headers", half(head + "X: " + strings.Repeat("x", 20_000)), nil},
		{"half bodies", half(announced + strings.Repeat(" ", 20_000)), nil},
		{"half chunks", half(head + "Transfer-Encoding: chunked\r\n\r\nfffff\r\n{"), nil},
		{"half requests behind whole ones", half("GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /"), nil},
		{"half gRPC messages", calls(func(c *rawgrpc.Client) {
			c.Announce(c.Call(pb.GRPCInferenceService_ModelInfer_FullMethodName), 8<<20, make([]byte, 1000))
		}), nil},
		{"gRPC metadata", calls(func(c *rawgrpc.Client) {
			c.Open(grpc_health_v1.Health_Watch_FullMethodName, 30_000,
				hpack.HeaderField{Name: "x", Value: strings.Repeat("v", 1000)})
		}), nil},
		{"gRPC watches", calls(func(c *rawgrpc.Client) {
			for range watchesEach {
				c.Message(c.Call(grpc_health_v1.Health_Watch_FullMethodName), nil)
			}
		}), nil},
		{"webhooks that no receiver takes", func(t *testing.T, s *harness.Server) {
			for i := range 30 {
				body := fmt.Sprintf(`{"input":{"token":"%016x"},"webhook":"%s%s"}`, i, silent, strings.Repeat("x", 10_000))
				s.Do(http.MethodPost, "/predictions", []byte(body), "Prefer", "respond-async")
			}
		}, nil},
		{"streams that are not read", unread, nil},
		{"bodies that drip", func(t *testing.T, s *harness.Server) {
			for _, conn := range dialed(t, s, drippers, announced+strings.Repeat(" ", 20_000)) {
				go drip(t, conn)
			}
		}, nil},
		{"gRPC messages that drip", func(t *testing.T, s *harness.Server) {
			for range drippers {
				c := rawgrpc.Dial(t, s.GRPCAddress())
				call := c.Call(pb.GRPCInferenceService_ModelInfer_FullMethodName)
				c.Announce(call, 8<<20, make([]byte, 20_000))
				go drip(t, part{c, call})
			}
		}, nil},
		{"pages of other sites", foreignPages, staysUnloaded},
	}
}

// half begins as many requests as there are attackers, and ends none.
func half(request string) func(*testing.T, *harness.Server) {
	return func(t *testing.T, s *harness.Server) { dialed(t, s, attackers, request) }
}

// dialed returns n connections of hostile clients, on which text was sent.
func dialed(t *testing.T, s *harness.Server, n int, text string) (conns []net.Conn) {
	from := net.Dialer{LocalAddr: rawgrpc.Address()}
	for range n {
		conn := assert.Must(from.Dial("tcp", harness.Host(s)))(t)
		t.Cleanup(func() { conn.Close() })
		_, _ = io.WriteString(conn, text) // it may have been closed already
		conns = append(conns, conn)
	}
	return conns
}

// calls makes gRPC calls on as many connections as there are attackers.
func calls(call func(*rawgrpc.Client)) func(*testing.T, *harness.Server) {
	return func(t *testing.T, s *harness.Server) {
		for range attackers {
			call(rawgrpc.Dial(t, s.GRPCAddress()))
		}
	}
}

// TestAttacks_OthersAreServed: hostile clients come one kind after another and stay, while the collector of traces is
// dead. Everyone else is served, a worker that dies is replaced, the front keeps within its memory, and it stops when
// it is told to.
func TestAttacks_OthersAreServed(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	dir := harness.NewFolder(t, "b/run.py", "def run() -> str:\n    return 'loaded'\n",
		"pinion.yaml", "models: {a: {path: a, concurrency: 4}, b: {path: b, load: on-demand}}\n")
	assert.NoError(t, os.CopyFS(filepath.Join(dir, "a"), os.DirFS("models")))
	harness.WriteFile(t, filepath.Join(dir, "a", "cog.yaml"), "run: chaos.py:TaskStream\n")
	o := harness.Options{
		Dir: dir, Models: []string{"--config", filepath.Join(dir, "pinion.yaml")}, CutsOff: true,
		Python: harness.AnyPython(t).Path,
		Args: []string{
			"--grpc-port=0", fmt.Sprintf("--memory-budget=%dMiB", attackedBudget), "--grace=2s", "--cancel-grace=1s",
			"--queue=100",
		},
		Env:  []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + harness.SilentServer(t), "OTEL_TRACES_SAMPLER=always_on"},
		Wrap: []string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, attackedDescriptors), "sh"},
	}
	if _, enter, ok := harness.MemoryGroup(t, 2*attackedMemory<<20); ok {
		o.Wrap = append(o.Wrap, enter...)
	} else {
		t.Log("no control group: the kernel would not end the front")
	}
	s := harness.Ready(t, o)
	l := beginLoad(t, s)
	list := attacks(t)
	for _, a := range list {
		l.enter(a.name, false)
		l.more(honest)
		a.strike(t, s)
		open := harness.Descriptors(t, s.PID)
		t.Logf("%s: %d descriptors", a.name, open)
		if open > attackedDescriptors-spareDescriptors {
			t.Errorf("%s: the server has %d descriptors of %d, want %d to spare", a.name, open, attackedDescriptors,
				spareDescriptors)
		}
		s.CloseIdle() // the attack has taken their places
		l.served()
		l.enter(a.name+", without the worker", true)
		replaceWorker(t, s)
		l.enter(a.name+", with another worker", false)
		l.served()
	}
	for _, a := range list {
		if a.after != nil {
			a.after(t, s)
		}
	}
	l.end()
	if most := harness.PeakResident(t, s.PID) >> 20; most > attackedMemory && !harness.Sanitized(t) {
		t.Errorf("the front had %d MiB, want at most %d", most, attackedMemory)
	}
	s.Signal(syscall.SIGTERM)
	s.Ended(0)
}

// served waits until clients and a platform are answered.
func (l *load) served() {
	l.t.Helper()
	l.more(5 * honest)
	assert.Eventually(l.t, "/livez is answered", func() bool {
		a := l.s.Do(http.MethodGet, "/livez", nil, "Connection", "close")
		return a.Err == nil && a.Code == http.StatusOK
	})
}

// replaceWorker kills the worker, and waits until there is another.
func replaceWorker(t *testing.T, s *harness.Server) {
	t.Helper()
	before := s.Worker()
	harness.SendSignal(t, before, syscall.SIGKILL)
	assert.Eventually(t, "the worker is replaced", func() bool {
		h := s.Health()
		return h.Status == "READY" && h.Workers[0].PID != before
	})
}
