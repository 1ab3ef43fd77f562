// Package metrics counts and times what the server does, and writes it as Prometheus reads it.
//
// It promises:
//
//   - Recording never blocks and, but for a label or name that is new, never allocates: a plain prediction costs
//     a dozen atomic additions. Nothing is aggregated before somebody asks.
//   - What exists elsewhere (predictions in flight, workers, memory) is asked for when the page is written, by the
//     functions of Options. A function that is nil, or has nothing to say, leaves its series away.
//   - The number of series is bounded whatever clients, receivers and models send: unknown methods and routes
//     beyond the bound become "other", names of the model's beyond Options.MaxModel are dropped and counted.
//   - One histogram is read bucket by bucket while others add to it: its count is the sum of its buckets, and its
//     sum may be ahead of, or behind, by what was recorded meanwhile.
//
// # Formats
//
// The text format 0.0.4, and OpenMetrics 1.0 for those who prefer it in their Accept header. Tests hold both,
// byte for byte, to github.com/prometheus/client_golang.
//
// That library itself stays out of the binary, which is every worker too: linking it costs each process 0.6 to 1 ms
// of package initialisation (protobuf descriptors, the default registry), where this package costs nothing, and
// 9.8 MB of binary, half of what it has without. github.com/VictoriaMetrics/metrics 1.35, the newest that the module
// proxy resolves, has neither histograms with fixed buckets nor OpenMetrics.
//
// # GPUs
//
// gpu_memory_used_bytes and gpu_utilization_ratio are written where Options.GPUs supplies them: cmd/pinion has them from
// NVML, which this package, free of cgo, does not know.
//
// It imports predict and rawjson; cmd/pinion joins it to the others.
package metrics
