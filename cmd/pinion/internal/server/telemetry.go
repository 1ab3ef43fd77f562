package server

import (
	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/logging"
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
	f.sentry = logging.StartSentry(f.s.Sentry, version.Pinion, f.log)
	f.log = f.sentry.Follow(f.log)
	return nil
}

func (f *Server) sendMetrics() error { return f.telemetry.SendMetrics(f.allMetrics()) }
