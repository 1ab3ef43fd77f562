package telemetry

import (
	"strings"

	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The numbers of fields in opentelemetry/proto/collector/trace/v1/trace_service.proto and trace/v1/trace.proto.
const requestResourceSpans, resourceScopeSpans = 1, 2

// sender is who made spans: what surrounds them in a request.
type sender struct {
	about           *tracepb.ResourceSpans // without spans
	resource, scope []byte                 // its fields, and those of its ScopeSpans
}

func newSender(r *resource.Resource, version string) (s sender, err error) {
	who := &resourcepb.Resource{}
	for _, a := range r.Attributes() {
		who.Attributes = append(who.Attributes, &commonpb.KeyValue{Key: string(a.Key), Value: &commonpb.AnyValue{
			Value: &commonpb.AnyValue_StringValue{StringValue: strings.ToValidUTF8(a.Value.String(), "\uFFFD")},
		}})
	}
	scoped := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: scope, Version: version}}
	if s.scope, err = proto.Marshal(scoped); err != nil {
		return s, err
	}
	s.about = &tracepb.ResourceSpans{Resource: who, SchemaUrl: r.SchemaURL()}
	if s.resource, err = proto.Marshal(s.about); err != nil {
		return s, err
	}
	s.about.ScopeSpans = []*tracepb.ScopeSpans{scoped}
	return s, nil
}

// message wraps encoded spans. They are put in as unknown fields, which protobuf writes as they are.
func (s *sender) message(encoded []byte) *tracepb.ResourceSpans {
	scoped := &tracepb.ScopeSpans{Scope: s.about.GetScopeSpans()[0].GetScope()}
	scoped.ProtoReflect().SetUnknown(encoded)
	return &tracepb.ResourceSpans{
		Resource: s.about.GetResource(), ScopeSpans: []*tracepb.ScopeSpans{scoped},
		SchemaUrl: s.about.GetSchemaUrl(),
	}
}

// head returns what precedes encoded spans of that size in a request.
func (s *sender) head(size int) []byte {
	inner := len(s.scope) + size
	b := protowire.AppendTag(nil, requestResourceSpans, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(s.resource)+protowire.SizeTag(resourceScopeSpans)+protowire.SizeBytes(inner)))
	b = protowire.AppendTag(append(b, s.resource...), resourceScopeSpans, protowire.BytesType)
	return append(protowire.AppendVarint(b, uint64(inner)), s.scope...)
}
