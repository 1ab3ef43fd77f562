package dashboard

import (
	"testing"
	"time"

	"pinion/runtime/metrics"
	"pinion/runtime/predict"
)

// BenchmarkSample measures what a view that no client follows costs, once a second.
func BenchmarkSample(b *testing.B) {
	set := metrics.New(metrics.Options{})
	set.Ended(predict.End{Status: predict.Succeeded, Times: predict.Times{Total: 20 * time.Millisecond}})
	v := New(Options{Figures: set.Figures, Load: func() metrics.Load { return metrics.Load{} }})
	defer v.Close()
	for b.Loop() {
		v.sample(time.Now())
	}
}
