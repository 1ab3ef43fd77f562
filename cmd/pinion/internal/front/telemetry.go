package front

import (
	"pinion/cmd/pinion/internal/version"
	"pinion/ipc"
	"pinion/runtime/telemetry"
)

// startTelemetry makes the exporters that the settings ask for; nil: none.
func (f *Server) startTelemetry() (*telemetry.Telemetry, error) {
	for _, w := range f.s.Telemetry.Warnings {
		f.log.Warn(w)
	}
	return telemetry.Start(f.s.Telemetry, telemetry.Options{Version: version.Pinion, Log: f.log})
}

// modelTracing is what workers are told of traces; nil where there are none.
func modelTracing(c *telemetry.Config) *ipc.Tracing {
	if c.Traces == nil {
		return nil
	}
	return &ipc.Tracing{Endpoint: c.Traces.URL, GRPC: c.Traces.GRPC, Sampler: c.Sampler, Service: c.Service, Hooks: c.Hooks}
}
