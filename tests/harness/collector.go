package harness

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logpb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"pinion/tests/assert"
)

// Collector receives OTLP, over HTTP and over gRPC.
type Collector struct {
	URL  string // of HTTP, without a path
	GRPC string // http://host:port

	mu      sync.Mutex
	spans   []*Span
	metrics []*metricpb.ResourceMetrics
	logs    []*LogRecord
}

// Span is a span as it came, with its resource.
type Span struct {
	*spanpb.Span
	Resource map[string]any
	Scope    string
}

// LogRecord is a log record as it came, with its resource.
type LogRecord struct {
	*logpb.LogRecord
	Resource map[string]any
}

// StartCollector starts a collector that lives until the test's end.
func StartCollector(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", receive(c.takeSpans))
	mux.HandleFunc("POST /v1/metrics", receive(c.takeMetrics))
	mux.HandleFunc("POST /v1/logs", receive(c.takeLogs))
	server := &http.Server{Handler: mux}
	ln := listen(t)
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() { server.Close() })
	c.URL = "http://" + ln.Addr().String()

	rpc := grpc.NewServer()
	tracepb.RegisterTraceServiceServer(rpc, traceService{c: c})
	metricspb.RegisterMetricsServiceServer(rpc, metricsService{c: c})
	logspb.RegisterLogsServiceServer(rpc, logsService{c: c})
	rpcListener := listen(t)
	go func() { _ = rpc.Serve(rpcListener) }()
	t.Cleanup(rpc.Stop)
	c.GRPC = "http://" + rpcListener.Addr().String()
	return c
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	return assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
}

// receive returns a handler of one signal's requests.
func receive[R any, P interface {
	*R
	proto.Message
}](take func(P)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body) // a nil reader fails below
		}
		data, err := io.ReadAll(body)
		message := P(new(R))
		if err == nil {
			err = proto.Unmarshal(data, message)
		}
		if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
			http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
			return
		}
		take(message)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}
}

type (
	traceService struct {
		tracepb.UnimplementedTraceServiceServer
		c *Collector
	}
	metricsService struct {
		metricspb.UnimplementedMetricsServiceServer
		c *Collector
	}
	logsService struct {
		logspb.UnimplementedLogsServiceServer
		c *Collector
	}
)

func (s traceService) Export(_ context.Context,
	r *tracepb.ExportTraceServiceRequest,
) (*tracepb.ExportTraceServiceResponse, error) {
	s.c.takeSpans(r)
	return &tracepb.ExportTraceServiceResponse{}, nil
}

func (s metricsService) Export(_ context.Context,
	r *metricspb.ExportMetricsServiceRequest,
) (*metricspb.ExportMetricsServiceResponse, error) {
	s.c.takeMetrics(r)
	return &metricspb.ExportMetricsServiceResponse{}, nil
}

func (s logsService) Export(_ context.Context,
	r *logspb.ExportLogsServiceRequest,
) (*logspb.ExportLogsServiceResponse, error) {
	s.c.takeLogs(r)
	return &logspb.ExportLogsServiceResponse{}, nil
}

func (c *Collector) takeSpans(r *tracepb.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range r.ResourceSpans {
		of := Attributes(resource.Resource.GetAttributes())
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, &Span{s, of, scope.Scope.GetName()})
			}
		}
	}
}

func (c *Collector) takeMetrics(r *metricspb.ExportMetricsServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.metrics = append(c.metrics, r.ResourceMetrics...)
}

func (c *Collector) takeLogs(r *logspb.ExportLogsServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range r.ResourceLogs {
		of := Attributes(resource.Resource.GetAttributes())
		for _, scope := range resource.ScopeLogs {
			for _, l := range scope.LogRecords {
				c.logs = append(c.logs, &LogRecord{l, of})
			}
		}
	}
}

// Spans returns the spans that came until now.
func (c *Collector) Spans() []*Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Span(nil), c.spans...)
}

// Metrics returns the exports of metrics that came until now.
func (c *Collector) Metrics() []*metricpb.ResourceMetrics {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*metricpb.ResourceMetrics(nil), c.metrics...)
}

// Logs returns the log records that came until now.
func (c *Collector) Logs() []*LogRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*LogRecord(nil), c.logs...)
}

// TraceID, SpanID and ParentID are in hexadecimal; ParentID is "" for a root.
func (s *Span) TraceID() string  { return hex.EncodeToString(s.Span.TraceId) }
func (s *Span) SpanID() string   { return hex.EncodeToString(s.Span.SpanId) }
func (s *Span) ParentID() string { return hex.EncodeToString(s.Span.ParentSpanId) }

// Attrs returns the span's attributes: strings, int64, float64, bool, and lists of strings.
func (s *Span) Attrs() map[string]any { return Attributes(s.Span.Attributes) }

// Attributes returns OTLP's attributes as Go's values.
func Attributes(list []*commonpb.KeyValue) map[string]any {
	values := map[string]any{}
	for _, a := range list {
		switch v := a.Value.GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			values[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			values[a.Key] = v.IntValue
		case *commonpb.AnyValue_DoubleValue:
			values[a.Key] = v.DoubleValue
		case *commonpb.AnyValue_BoolValue:
			values[a.Key] = v.BoolValue
		case *commonpb.AnyValue_ArrayValue:
			texts := []string{}
			for _, item := range v.ArrayValue.GetValues() {
				texts = append(texts, item.GetStringValue())
			}
			values[a.Key] = texts
		}
	}
	return values
}
