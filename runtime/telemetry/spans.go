package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"pinion/runtime/trace"
)

// Tracer makes traces that are sent; nil: traces are off.
func (t *Telemetry) Tracer() *trace.Tracer {
	if t == nil || t.spans == nil {
		return nil
	}
	return &trace.Tracer{
		Sample: t.config.sample(), Export: t.export,
		Ignore: !t.config.Propagate, Header: t.config.Header, Jaeger: t.config.Jaeger, Files: t.config.Files,
	}
}

// export queues an ended span, or drops it.
func (t *Telemetry) export(s *trace.Span) {
	if t.spanQueue.admit() {
		t.spans.OnEnd(snapshot{span: s, telemetry: t})
	}
}

// sample is the sampler of the settings.
func (c *Config) sample() func(trace.ID, trace.Context) bool {
	ratio := sdktrace.TraceIDRatioBased(c.Ratio)
	root := map[string]func(trace.ID) bool{
		alwaysOn: always, parentOrOn: always, alwaysOff: never, parentOrOff: never,
	}[c.Sampler]
	if root == nil {
		root = func(id trace.ID) bool {
			return ratio.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: oteltrace.TraceID(id)}).Decision == sdktrace.RecordAndSample
		}
	}
	follows := c.Sampler == parentOrOn || c.Sampler == parentOrOff || c.Sampler == parentOrRatio
	return func(id trace.ID, parent trace.Context) bool {
		if follows && parent.Valid() {
			return parent.Sampled
		}
		return root(id)
	}
}

func always(trace.ID) bool { return true }
func never(trace.ID) bool  { return false }

// snapshot shows an ended span to the SDK. The interface within it only has the SDK's private method, which nobody calls.
type snapshot struct {
	sdktrace.ReadOnlySpan
	span      *trace.Span
	telemetry *Telemetry
}

// scope names who made the spans.
const scope = "pinion"

func (s snapshot) Name() string                       { return s.span.Name }
func (s snapshot) SpanContext() oteltrace.SpanContext { return spanContext(s.span.Context, false) }
func (s snapshot) StartTime() time.Time               { return s.span.Start }
func (s snapshot) EndTime() time.Time                 { return s.span.End }
func (s snapshot) Attributes() []attribute.KeyValue   { return attributes(s.span.Attrs) }
func (s snapshot) DroppedAttributes() int             { return 0 }
func (s snapshot) DroppedLinks() int                  { return 0 }
func (s snapshot) DroppedEvents() int                 { return 0 }
func (s snapshot) ChildSpanCount() int                { return 0 }

func (s snapshot) Parent() oteltrace.SpanContext {
	if s.span.Parent == (trace.SpanID{}) {
		return oteltrace.SpanContext{}
	}
	c := s.span.Context
	c.Span = s.span.Parent
	return spanContext(c, s.span.Remote)
}

func (s snapshot) SpanKind() oteltrace.SpanKind {
	return [...]oteltrace.SpanKind{
		trace.Internal: oteltrace.SpanKindInternal, trace.Server: oteltrace.SpanKindServer, trace.Client: oteltrace.SpanKindClient,
	}[s.span.Kind]
}

func (s snapshot) Status() sdktrace.Status {
	if s.span.Failed {
		return sdktrace.Status{Code: codes.Error, Description: s.span.Message}
	}
	return sdktrace.Status{}
}

func (s snapshot) Links() (links []sdktrace.Link) {
	for _, to := range s.span.Links {
		links = append(links, sdktrace.Link{SpanContext: spanContext(to, false)})
	}
	return links
}

func (s snapshot) Events() (events []sdktrace.Event) {
	for _, e := range s.span.Events {
		events = append(events, sdktrace.Event{Name: e.Name, Time: e.At, Attributes: attributes(e.Attrs)})
	}
	return events
}

// Resource says whose process the span is of: the model's spans have the worker's too.
func (s snapshot) Resource() *resource.Resource {
	if s.span.Worker {
		return s.telemetry.worker
	}
	return s.telemetry.resource
}

func (s snapshot) InstrumentationScope() instrumentation.Scope {
	return instrumentation.Scope{Name: scope, Version: s.telemetry.version}
}

// InstrumentationLibrary is the old name of InstrumentationScope.
func (s snapshot) InstrumentationLibrary() instrumentation.Scope { return s.InstrumentationScope() }

func spanContext(c trace.Context, remote bool) oteltrace.SpanContext {
	flags := oteltrace.TraceFlags(0).WithSampled(c.Sampled)
	state, _ := oteltrace.ParseTraceState(c.State) // a malformed one is left out
	return oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
		TraceID: oteltrace.TraceID(c.Trace), SpanID: oteltrace.SpanID(c.Span), TraceFlags: flags, TraceState: state, Remote: remote,
	})
}

func attributes(list []trace.Attr) []attribute.KeyValue {
	if len(list) == 0 {
		return nil
	}
	values := make([]attribute.KeyValue, len(list))
	for i, a := range list {
		if a.IsInt {
			values[i] = attribute.Int64(a.Key, a.Int)
		} else {
			values[i] = attribute.String(a.Key, a.Text)
		}
	}
	return values
}
