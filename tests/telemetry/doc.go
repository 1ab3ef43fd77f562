// Package telemetry tests metrics, traces, logs for collectors, dashboards and the pages in a browser.
// Package tests says how.
package telemetry
