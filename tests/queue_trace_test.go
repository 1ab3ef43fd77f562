package tests

import (
	"testing"

	"pinion/tests/harness"
)

// TestATraceCrossesTheQueue: a prediction that a server runs is below the span of the client, or of the server that
// accepted it.
func TestATraceCrossesTheQueue(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	nats := harness.StartNATS(t)
	traced := func(name string) []string {
		return []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
			"OTEL_SERVICE_NAME=" + name,
		}
	}
	a := member(t, nats.URL, harness.Options{Env: traced("accepts")})
	open := makeFIFO(t, a.Dir, "gate")
	busy := a.Begin("busy", input{"gate": "gate"}) // so that another server runs its job
	becomes(t, a, "busy", "processing")
	g := startGateway(t, nats.URL)
	const parent = "b7ad6b7169203331"
	traces := map[string]string{"at-a": "0af7651916cd43dd8448eb211c80319c", "at-g": "1af7651916cd43dd8448eb211c80319c"}
	enqueue(t, a, "at-a", input{}, "traceparent", "00-"+traces["at-a"]+"-"+parent+"-01")
	enqueue(t, g.Server, "at-g", input{}, "traceparent", "00-"+traces["at-g"]+"-"+parent+"-01")
	b := member(t, nats.URL, harness.Options{Dir: a.Dir, Env: traced("runs")})
	for id := range traces {
		becomes(t, b, id, "succeeded")
	}
	open()
	harness.Receive(t, busy)
	a.Stop()
	b.Stop()
	span := func(trace, name string) *harness.Span {
		for _, s := range c.Spans() {
			if s.TraceID() == traces[trace] && s.Name == name {
				return s
			}
		}
		t.Fatalf("the trace of %s has no span %s", trace, name)
		return nil
	}
	accepted, run := span("at-a", "POST /predictions"), span("at-a", "cog.prediction")
	if accepted.ParentID() != parent || accepted.Resource["service.name"] != "accepts" {
		t.Errorf("the request's span is of %v, below %s", accepted.Resource["service.name"], accepted.ParentID())
	}
	if run.ParentID() != accepted.SpanID() || run.Resource["service.name"] != "runs" {
		t.Errorf("the prediction's span is of %v, below %s and not %s", run.Resource["service.name"], run.ParentID(),
			accepted.SpanID())
	}
	if run := span("at-g", "cog.prediction"); run.ParentID() != parent || run.Resource["service.name"] != "runs" {
		t.Errorf("through a gateway it is of %v, below %s", run.Resource["service.name"], run.ParentID())
	}
}
