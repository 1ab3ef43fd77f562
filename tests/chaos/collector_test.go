package chaos

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const (
	// collectorRate is how many requests a second each of the two servers gets.
	collectorRate = 100
	// collectorLines is how many lines a server may log in a minute about a collector that takes nothing.
	collectorLines = 6
	// collectorMemory is by how many bytes the front may grow while its collector is dead.
	collectorMemory = 48 << 20
)

// TestCollector_DeadCollector: every request is traced, and the collector is dead: first its port is closed, then it is
// silent, then it answers that it is unavailable. Everybody is answered, the front keeps its size, and what is dropped
// is counted. PINION_CHAOS_MINUTES is how long each of the three lasts, else a few seconds.
func TestCollector_DeadCollector(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			testDeadCollector(t, protocol, time.Duration(setting(t, "PINION_CHAOS_MINUTES", 0))*time.Minute)
		})
	}
}

func testDeadCollector(t *testing.T, protocol string, each time.Duration) {
	living := harness.StartCollector(t)
	real := living.URL
	if protocol == "grpc" {
		real = living.GRPC
	}
	port := &collectorPort{t: t, address: freeAddress(t)}
	t.Cleanup(port.close)
	s := harness.Ready(t, harness.Options{
		Model: "chaos.py:Plain", Args: []string{"--workers", "2", "--queue", "64"},
		Env: []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + port.address, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
			"OTEL_TRACES_SAMPLER=always_on",
		},
	})
	c := &collectorScene{t: t, s: s}
	c.load("before", time.Second)
	before := c.sample("before")
	for _, state := range []struct {
		name string
		open func()
	}{
		{"closed port", func() {}},
		{"silent socket", port.silent},
		{"unavailable", func() { port.unavailable(protocol) }},
	} {
		lines := c.lines
		state.open()
		c.load(state.name, each)
		port.close()
		c.within(before, state.name)
		most := collectorLines * (1 + int(each/time.Minute))
		if got := c.lines - lines; got > most {
			t.Errorf("%s: got %d log lines, want %d at most:\n%s", state.name, got, most, s.Log)
		}
	}
	assert.Eventually(t, "dropped spans are counted", func() bool { return c.sample("afterwards").dropped > 0 })
	port.forward(strings.TrimPrefix(real, "http://"))
	assert.Eventually(t, "the collector that lives again gets spans", func() bool {
		s.Succeed(map[string]any{"token": "0123456789abcdef"})
		return len(living.Spans()) > 0
	})
	s.Signal(syscall.SIGTERM)
	s.Ended(0)
}

// collectorScene is a server under a steady load, and what it has.
type collectorScene struct {
	t     *testing.T
	s     *harness.Server
	asked int
	lines int // log lines at the last sample
}

// collectorSample is what a front has at one moment.
type collectorSample struct {
	resident, descriptors, goroutines, dropped, lines int
}

// load sends predictions at a steady rate for a while, and measures the server each minute.
func (c *collectorScene) load(state string, lasting time.Duration) {
	c.t.Helper()
	lasting = max(lasting, 3*time.Second)
	pace := time.NewTicker(time.Second / collectorRate)
	defer pace.Stop()
	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	var clients sync.WaitGroup
	free := make(chan struct{}, 16) // so many wait at once
	for end := time.After(lasting); ; {
		select {
		case <-end:
			clients.Wait()
			return
		case <-minute.C:
			c.sample(state)
		case <-pace.C:
			free <- struct{}{}
			c.asked++
			token := fmt.Sprintf("%016x", c.asked)
			clients.Go(func() {
				a := c.s.Input(map[string]any{"token": token})
				if a.Err != nil || a.Status != "succeeded" || !strings.HasPrefix(string(a.Output), `"`+token+" ") {
					c.t.Errorf("%s: got %.300s %v, want a prediction of %s", state, a.Body, a.Err, token)
				}
				<-free
			})
		}
	}
}

var droppedSpans = regexp.MustCompile(`(?m)^pinion_telemetry_dropped_total\{signal="traces"\} ([0-9]+)$`)

// sample measures the front, and logs it.
func (c *collectorScene) sample(state string) (m collectorSample) {
	c.t.Helper()
	text := string(c.s.Do(http.MethodGet, "/metrics", nil).Body)
	for pattern, number := range map[*regexp.Regexp]*int{goroutines: &m.goroutines, droppedSpans: &m.dropped} {
		if found := pattern.FindStringSubmatch(text); found != nil {
			*number, _ = strconv.Atoi(found[1]) // digits
		} else {
			c.t.Errorf("got metrics without %s: %.300s, nil, want non-nil", pattern, text)
		}
	}
	m.resident, m.descriptors = harness.Resident(c.t, c.s.PID), harness.Descriptors(c.t, c.s.PID)
	lines := len(c.s.Log.Lines())
	m.lines, c.lines = lines-c.lines, lines
	c.t.Logf("%s %-14s requests %7d, resident %.1f MiB, descriptors %d, goroutines %d, spans dropped %d, log lines %d",
		time.Now().Format(time.TimeOnly), state, c.asked, float64(m.resident)/(1<<20), m.descriptors, m.goroutines, m.dropped,
		m.lines)
	return m
}

// within fails unless the front is as large as it was.
func (c *collectorScene) within(before collectorSample, state string) {
	c.t.Helper()
	var m collectorSample
	err := until(func() bool {
		c.s.CloseIdle()
		m = c.sample(state)
		return m.descriptors <= before.descriptors+extraDescriptors+2 && m.goroutines <= before.goroutines+extraGoroutines+16
	})
	if err != nil {
		c.t.Errorf("%s: got %+v, want what there was: %+v", state, m, before)
	}
	if m.resident > before.resident+collectorMemory && !harness.Sanitized(c.t) {
		c.t.Errorf("%s: the front has %d MiB, and had %d, want at most %d", state, m.resident>>20, before.resident>>20,
			before.resident+collectorMemory)
	}
}

// freeAddress returns an address at which nothing listens. No outgoing connection takes its port, because those have
// another address.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln := assert.Must(net.Listen("tcp", "127.0.0.77:0"))(t)
	defer ln.Close()
	return ln.Addr().String()
}

// collectorPort is an address at which different servers listen, one at a time.
type collectorPort struct {
	t       *testing.T
	address string
	ln      net.Listener
	stop    func() // ends the connections of a server

	mu    sync.Mutex
	conns []net.Conn // that are held
}

func (p *collectorPort) listen() {
	p.t.Helper()
	ln := assert.Must(net.Listen("tcp", p.address))(p.t)
	p.ln = ln
}

// each serves every connection until the port is closed.
func (p *collectorPort) each(serve func(net.Conn)) {
	p.listen()
	go func(ln net.Listener) {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, conn)
			p.mu.Unlock()
			go serve(conn)
		}
	}(p.ln)
}

// silent takes connections, and answers nothing.
func (p *collectorPort) silent() { p.each(func(net.Conn) {}) }

// forward joins connections to another address.
func (p *collectorPort) forward(to string) {
	p.each(func(conn net.Conn) {
		defer conn.Close()
		other, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer other.Close()
		go func() { _, _ = io.Copy(other, conn) }() // either ends both
		_, _ = io.Copy(conn, other)
	})
}

// unavailable answers 503, in the form of the protocol.
func (p *collectorPort) unavailable(protocol string) {
	p.listen()
	if protocol == "grpc" {
		server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
			return status.Error(codes.Unavailable, "no backend")
		}))
		go func(ln net.Listener) { _ = server.Serve(ln) }(p.ln)
		p.stop = server.Stop
		return
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})}
	go func(ln net.Listener) { _ = server.Serve(ln) }(p.ln)
	p.stop = func() { server.Close() }
}

// close stops listening.
func (p *collectorPort) close() {
	if p.ln == nil {
		return
	}
	p.ln.Close()
	p.ln = nil
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}
