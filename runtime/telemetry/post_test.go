package telemetry

import (
	deflate "compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"pinion/tests/assert"
)

// picky is a collector that refuses its first request and reads the others, once it may.
type picky struct {
	t       *testing.T
	may     chan struct{} // nil means at once
	mu      sync.Mutex
	refused bool
	got     []*coltracepb.ExportTraceServiceRequest
}

func (c *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.may != nil {
		<-c.may
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.refused {
		c.refused = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, err := io.Reader(r.Body), error(nil)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, err = deflate.NewReader(body)
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(body)
	}
	request := &coltracepb.ExportTraceServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(text, request)
	}
	assert.Equal(c.t, "error", err, nil)
	c.got = append(c.got, request)
}

func (c *picky) requests() []*coltracepb.ExportTraceServiceRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got
}

func startSender(t *testing.T, url string, compress bool, limits Batch) *Telemetry {
	limits.Delay = time.Hour
	return assert.Must(Start(&Config{
		Traces: &Exporter{URL: url, Insecure: true, Gzip: compress}, Sampler: alwaysOn, SpanBatch: limits,
		Resource: map[string]string{instanceID: "one"}, Service: "a model",
	}, Options{Log: slog.New(slog.DiscardHandler), Version: "1.0"}))(t)
}

// spanNamed returns a span as a field of ScopeSpans.
func spanNamed(name string) []byte {
	const spans, ofName = 2, 5
	span := protowire.AppendString(protowire.AppendTag(nil, ofName, protowire.BytesType), name)
	return protowire.AppendBytes(protowire.AppendTag(nil, spans, protowire.BytesType), span)
}

// TestPost_RequestIsWhatSDKMakes: ours, which it does not copy, and its own, which is compressed; when they are
// repeated too.
func TestPost_RequestIsWhatSDKMakes(t *testing.T) {
	var got []*coltracepb.ExportTraceServiceRequest
	for _, compress := range []bool{false, true} {
		collector := &picky{t: t}
		server := httptest.NewServer(collector)
		defer server.Close()
		sender := startSender(t, server.URL, compress, Batch{Queue: 100, Size: 3})
		sender.spans.add(spanNamed("front"), append(spanNamed("worker"), spanNamed("another")...), 3)
		assert.Eventually(t, "the request arrives", func() bool { return len(collector.requests()) == 1 })
		sender.Stop()
		got = append(got, collector.requests()...)
	}
	assert.True(t, proto.Equal(got[0], got[1]), "sent, want proto.Equal(got[0], got[1]) true:\n%v\nthe SDK sends:\n%v", got[0], got[1])
	if r := got[0].GetResourceSpans(); len(r) != 2 || len(r[1].GetScopeSpans()[0].GetSpans()) != 2 ||
		r[0].GetScopeSpans()[0].GetSpans()[0].GetName() != "front" ||
		r[0].GetScopeSpans()[0].GetScope().GetVersion() != "1.0" {
		t.Errorf("sent, want len(r) 2, len(GetSpans) 2, GetName front and GetVersion 1.0:\n%v", r)
	}
}

// TestPost_WhatWaitsIsBounded: in bytes, and each batch in bytes and in spans.
func TestPost_WhatWaitsIsBounded(t *testing.T) {
	collector := &picky{t: t, may: make(chan struct{}), refused: true}
	server := httptest.NewServer(collector)
	defer server.Close()
	sender := startSender(t, server.URL, false, Batch{Queue: 1000, Size: 5})
	large := spanNamed(string(make([]byte, fullBatch)))
	fit := maxQueued / len(large)
	for range fit + 3 {
		sender.spans.add(large, nil, 1)
	}
	assert.Equal(t, "dropped spans of a MiB", sender.Dropped()[signalTraces], 3)
	close(collector.may)
	assert.Eventually(t, "all others arrive", func() bool { return len(collector.requests()) == fit })
	for range 3 {
		sender.spans.add(append(spanNamed("a"), spanNamed("b")...), spanNamed("c"), 3)
	}
	sender.Stop()
	for _, r := range collector.requests()[fit:] {
		assert.Equal(t, "spans of the front, of a batch of at most 5",
			len(r.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()), 2)
	}
	assert.Equal(t, "batches", len(collector.requests())-fit, 3)
}
