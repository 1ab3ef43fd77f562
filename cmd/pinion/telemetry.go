package main

import "pinion/runtime/telemetry"

// startTelemetry makes the exporters that the settings ask for; nil: none.
func (f *front) startTelemetry() (*telemetry.Telemetry, error) {
	for _, w := range f.s.telemetry.Warnings {
		f.log.Warn(w)
	}
	return telemetry.Start(f.s.telemetry, telemetry.Options{Version: version, Log: f.log})
}
