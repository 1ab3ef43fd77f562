// Package telemetry sends traces, metrics and logs to an OpenTelemetry collector, by OTLP over HTTP or gRPC.
//
//	Read    the settings: OTEL_* and COG_* variables, cog.yaml; a wrong value is an error that names it
//	Start   makes the exporters of the signals that are asked for
//	Stop    flushes, for FlushLimit at most
//
// Without settings that ask for a signal nothing of it runs. Nothing here ever blocks its caller: what a collector does
// not take in time is dropped, counted (Dropped) and reported in the log once. Workers never call this package.
package telemetry
