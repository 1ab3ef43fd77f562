package queue

import (
	"testing"

	"pinion/tests/harness"
)

// TestTrace_CrossesQueue: a prediction that a server runs is below the span of the client, or of the server that
// accepted it.
func TestTrace_CrossesQueue(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	nats := harness.StartNATS(t)
	traced := func(name string) []string {
		return []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
			"OTEL_SERVICE_NAME=" + name,
		}
	}
	a := harness.StartMember(t, nats.URL, harness.Options{Env: traced("accepts")})
	open := harness.MakeFIFO(t, a.Dir, "gate")
	busy := a.Begin("busy", harness.Input{"gate": "gate"}) // so that another server runs its job
	harness.WaitStatus(t, a, "busy", "processing")
	g := harness.StartGateway(t, nats.URL)
	const parent = "b7ad6b7169203331"
	traces := map[string]string{"at-a": "0af7651916cd43dd8448eb211c80319c", "at-g": "1af7651916cd43dd8448eb211c80319c"}
	harness.Enqueue(t, a, "at-a", harness.Input{}, "traceparent", "00-"+traces["at-a"]+"-"+parent+"-01")
	harness.Enqueue(t, g.Server, "at-g", harness.Input{}, "traceparent", "00-"+traces["at-g"]+"-"+parent+"-01")
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir, Env: traced("runs")})
	for id := range traces {
		harness.WaitStatus(t, b, id, "succeeded")
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
		t.Fatalf("the trace of %s has no span %s, want one", trace, name)
		return nil
	}
	accepted, run := span("at-a", "POST /predictions"), span("at-a", "cog.prediction")
	if accepted.ParentID() != parent || accepted.Resource["service.name"] != "accepts" {
		t.Errorf(`the request's span is of %v, below %s, want ParentID b7ad6b7169203331 and Resource["service.name"] accepts`,
			accepted.Resource["service.name"], accepted.ParentID())
	}
	if run.ParentID() != accepted.SpanID() || run.Resource["service.name"] != "runs" {
		t.Errorf(`the prediction's span is of %v, below %s and not %s, want ParentID %q and Resource["service.name"] runs`,
			run.Resource["service.name"], run.ParentID(), accepted.SpanID(), accepted.SpanID())
	}
	if run := span("at-g", "cog.prediction"); run.ParentID() != parent || run.Resource["service.name"] != "runs" {
		t.Errorf(`through a gateway it is of %v, below %s, want ParentID b7ad6b7169203331 and Resource["service.name"] runs`,
			run.Resource["service.name"], run.ParentID())
	}
}
