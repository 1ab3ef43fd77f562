package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"pinion/runtime/trace"
	"pinion/tests/assert"
)

// receiver is a collector that keeps the names of the spans of each request.
type receiver struct {
	mu    sync.Mutex
	names [][]string
}

func (c *receiver) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var request coltracepb.ExportTraceServiceRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	var names []string
	for _, resource := range request.GetResourceSpans() {
		for _, s := range resource.GetScopeSpans()[0].GetSpans() {
			names = append(names, s.GetName())
		}
	}
	if err != nil {
		names = []string{err.Error()}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, names)
}

func (c *receiver) received() [][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.names)
}

// TestBatch_SpansAreSentInBatches: full ones at once and in order, in memory that is used again, and the rest at the
// stop.
func TestBatch_SpansAreSentInBatches(t *testing.T) {
	collector := &receiver{}
	server := httptest.NewServer(collector)
	defer server.Close()
	sender := assert.Must(Start(&Config{
		Traces: &Exporter{URL: server.URL, Insecure: true}, Sampler: alwaysOn,
		SpanBatch: Batch{Queue: 100, Size: 3, Delay: time.Hour},
	}, Options{Log: slog.New(slog.DiscardHandler)}))(t)
	sampled := sender.Tracer().Root()
	end := func(names ...string) {
		g := sampled.Group()
		for _, name := range names {
			g.Add(&trace.Span{Context: sampled.New(), Name: name, Worker: name == "worker"})
		}
		g.Send()
	}
	var want [][]string
	for _, round := range [][]string{{"a", "b", "c"}, {"d", "worker", "f"}, {"g", "h", "i"}} {
		end(round[0], round[1])
		end(round[2])
		if round[1] == "worker" { // it has another resource
			round = []string{round[0], round[2], round[1]}
		}
		want = append(want, round)
		assert.Eventually(t, "a full batch arrives", func() bool { return len(collector.received()) == len(want) })
	}
	end("left")
	sender.Stop()
	got := collector.received()
	assert.True(t, slices.EqualFunc(got, append(want, []string{"left"}), slices.Equal), "received %q, want %q and the rest", got, want)
	assert.Equal(t, "dropped", sender.Dropped()[signalTraces], 0)
}

// TestBatch_QueueTakesWhatFits: all or none of what ends together.
func TestBatch_QueueTakesWhatFits(t *testing.T) {
	q := &queue{drops: &drops{log: slog.New(slog.DiscardHandler)}, limit: 5}
	for i, want := range []bool{true, false, true, false} {
		assert.Equal(t, fmt.Sprintf("call %d: admitted", i), q.admit([]int{3, 3, 2, 1}[i]), want)
	}
	assert.Equal(t, "dropped", q.n.Load(), 4)
	q.sent(5, nil)
	assert.True(t, q.admit(3), "3 are not admitted after an export")
}
