// Package otlp turns metrics into OpenTelemetry's data, whenever they are sent: recording them stays as it is.
//
// All that the page shows has the same name and unit here, and times are cumulative. Beside it are the metrics that
// OpenTelemetry and Cog have names for.
package otlp
