// Package metrics counts and times what the server does, and writes it in Prometheus' formats.
//
// Guarantees:
//
//   - Recording never blocks, and allocates only for a new label or name: a plain prediction costs a dozen atomic
//     additions. Nothing is aggregated before the page is read.
//   - State of other packages (predictions in flight, workers, memory) is read through the functions of Options when
//     the page is written. A function that is nil, or returns nothing, leaves out its series.
//   - The number of series is bounded for any clients, receivers and models: unknown methods and excess routes become
//     "other"; a model's names beyond Options.MaxModel are dropped and counted.
//   - A histogram is read bucket by bucket while others add to it: its count is the sum of its buckets, and its sum may
//     differ by the observations made meanwhile.
//
// # Formats
//
// The text format 0.0.4, and OpenMetrics 1.0 for clients that prefer it in Accept. Tests compare both, byte for byte,
// with github.com/prometheus/client_golang.
//
// That library is not linked, because each worker has the same binary: it costs a process 0.3 ms of package
// initialisation (the default registry) and 0.6 MB, beside the protobuf that the telemetry brings.
// github.com/VictoriaMetrics/metrics 1.35, the newest that the module proxy resolves, lacks histograms with fixed
// buckets and OpenMetrics.
//
// # GPUs
//
// pinion_gpu_memory_used_bytes and pinion_gpu_utilization_ratio are written if Options.GPUs is set: cmd/pinion reads
// them from NVML, because this package is free of cgo.
package metrics
