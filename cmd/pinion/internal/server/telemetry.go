package server

import (
	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/sentry"
	"pinion/ipc"
	"pinion/runtime/metrics/otlp"
	"pinion/runtime/telemetry"
)

// beginTelemetry makes the exporters that the settings ask for, and the reporter of errors.
func (f *Server) beginTelemetry() (err error) {
	for _, w := range f.s.Telemetry.Warnings {
		f.log.Warn(w)
	}
	if f.telemetry, err = telemetry.Start(f.s.Telemetry,
		telemetry.Options{Version: version.Pinion, Log: f.log}); err != nil {
		return err
	}
	f.log = f.telemetry.Follow(f.log, f.telemetry.Tracer())
	f.sentry = sentry.Start(f.s.Sentry, version.Pinion, f.log)
	f.log = f.sentry.Follow(f.log)
	return nil
}

func (f *Server) sendMetrics() error {
	return f.telemetry.SendMetrics(otlp.Producer{Set: f.allMetrics(), Version: version.Pinion})
}

// modelTracing is what the workers of a model are told of traces; nil where there are none. The hooks are a file of the
// model's folder.
func modelTracing(c *telemetry.Config, of *model.Model) *ipc.Tracing {
	if c.Traces == nil {
		return nil
	}
	return &ipc.Tracing{
		Endpoint: c.Traces.URL, GRPC: c.Traces.GRPC, Sampler: c.Sampler, Service: c.Service,
		Hooks: telemetry.Hooks(of.Getenv, of.Observability),
	}
}
