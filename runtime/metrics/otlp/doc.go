// Package otlp turns metrics into OpenTelemetry's data, whenever they are sent: recording them stays as it is.
//
// All that the page shows has the same name and unit here, and times are cumulative. Beside it are the metrics that
// OpenTelemetry and Cog have names for.
//
// It is apart because it needs OpenTelemetry's SDK, and package metrics does without.
package otlp
