package telemetry

import (
	"strings"

	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// sender is who made spans: what surrounds them in a request.
type sender struct{ about *tracepb.ResourceSpans }

func newSender(r *resource.Resource, version string) sender {
	who := &resourcepb.Resource{}
	for _, a := range r.Attributes() {
		who.Attributes = append(who.Attributes, &commonpb.KeyValue{Key: string(a.Key), Value: &commonpb.AnyValue{
			Value: &commonpb.AnyValue_StringValue{StringValue: strings.ToValidUTF8(a.Value.String(), "\uFFFD")},
		}})
	}
	scoped := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: scope, Version: version}}
	return sender{&tracepb.ResourceSpans{Resource: who, ScopeSpans: []*tracepb.ScopeSpans{scoped}, SchemaUrl: r.SchemaURL()}}
}

// message wraps encoded spans. They are put in as unknown fields, which protobuf writes as they are.
func (s *sender) message(encoded []byte) *tracepb.ResourceSpans {
	scoped := &tracepb.ScopeSpans{Scope: s.about.GetScopeSpans()[0].GetScope()}
	scoped.ProtoReflect().SetUnknown(encoded)
	return &tracepb.ResourceSpans{Resource: s.about.GetResource(), ScopeSpans: []*tracepb.ScopeSpans{scoped}, SchemaUrl: s.about.GetSchemaUrl()}
}
