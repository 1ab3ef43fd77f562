package telemetry

import (
	"context"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
	oteltrace "go.opentelemetry.io/otel/trace"

	"pinion/runtime/logtext"
	"pinion/runtime/trace"
)

const predictionID = "prediction_id"

// modelName is the key of what a logger adds about its model, in a server with several.
const modelName = "model"

// Follow returns a logger that writes to log, adds trace_id to the lines of traced predictions, and sends the records
// where logs are on. tracer is the one that traces them, or nil.
func (t *Telemetry) Follow(log *slog.Logger, tracer *trace.Tracer) *slog.Logger {
	if t == nil || tracer == nil && t.records == nil {
		return log
	}
	h := logHandler{Handler: log.Handler(), tracer: tracer}
	if t.records != nil {
		h.sender = t.records.Logger(scope, otellog.WithInstrumentationVersion(t.version))
	}
	return slog.New(h)
}

type logHandler struct {
	slog.Handler
	tracer *trace.Tracer
	model  string         // of With; "" means there is one model
	sender otellog.Logger // nil means records are not sent
	attrs  []slog.Attr    // of With
}

// Handle writes a record and queues it to be sent.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	of := h.traceOf(r)
	if h.sender != nil && r.Level != logtext.LevelDraft {
		h.send(of, r)
	}
	if of.Valid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", of.Trace.String()))
	}
	return h.Handler.Handle(ctx, r)
}

// traceOf returns the context of the record's prediction; zero for none.
func (h logHandler) traceOf(r slog.Record) (of trace.Context) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != predictionID {
			return true
		}
		of = h.tracer.Live(h.model, a.Value.String())
		return false
	})
	return of
}

func (h logHandler) send(of trace.Context, r slog.Record) {
	ctx := context.Background()
	if of.Valid() {
		ctx = oteltrace.ContextWithSpanContext(ctx, spanContext(of))
	}
	var out otellog.Record
	out.SetTimestamp(r.Time)
	out.SetBody(attribute.StringValue(r.Message))
	out.SetSeverity(severity(r.Level))
	out.SetSeverityText(r.Level.String())
	add := func(a slog.Attr) bool {
		out.AddAttributes(attribute.String(a.Key, strings.ToValidUTF8(a.Value.String(), "\uFFFD")))
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.sender.Emit(ctx, out)
}

func severity(l slog.Level) otellog.Severity {
	switch {
	case l >= slog.LevelError:
		return otellog.SeverityError
	case l >= slog.LevelWarn:
		return otellog.SeverityWarn
	case l >= slog.LevelInfo:
		return otellog.SeverityInfo
	default:
		return otellog.SeverityDebug
	}
}

// WithAttrs implements slog.Handler, as does WithGroup.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key == modelName {
			h.model = a.Value.String()
		}
	}
	h.Handler, h.attrs = h.Handler.WithAttrs(attrs), append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)
	return h
}

func (h logHandler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}
