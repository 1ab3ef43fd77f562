package metrics

import (
	"runtime"
	"runtime/debug"
	"time"
)

// gatherGo adds the state of Go's runtime, under the usual names. Reading it stops the program for about 20 µs. Package
// runtime/metrics would not, but each worker would pay its initialisation.
func gatherGo(g *gathered) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	gatherPauses(g)
	threads, _ := runtime.ThreadCreateProfile(nil)
	g.family("go_info", Gauge, "The version of Go; the value is 1.")
	g.value(1, "version", runtime.Version())
	for _, of := range []struct {
		name, help string
		v          float64
	}{
		{"go_goroutines", "Goroutines.", float64(runtime.NumGoroutine())},
		{"go_threads", "Operating system threads created.", float64(threads)},
		{"go_sched_gomaxprocs_threads", "Threads that may run Go code at once.", float64(runtime.GOMAXPROCS(0))},
		{"go_memstats_alloc_bytes", "Heap in use by objects, in bytes.", float64(m.Alloc)},
		{"go_memstats_heap_idle_bytes", "Heap not in use, in bytes.", float64(m.HeapIdle)},
		{"go_memstats_heap_inuse_bytes", "Heap in use, in bytes.", float64(m.HeapInuse)},
		{"go_memstats_heap_objects", "Objects on the heap.", float64(m.HeapObjects)},
		{"go_memstats_heap_released_bytes", "Heap returned to the operating system, in bytes.", float64(m.HeapReleased)},
		{"go_memstats_next_gc_bytes", "Size of the heap at which the next collection begins, in bytes.", float64(m.NextGC)},
		{"go_memstats_stack_inuse_bytes", "Memory in use by goroutines' stacks, in bytes.", float64(m.StackInuse)},
		{"go_memstats_sys_bytes", "Memory obtained from the operating system, in bytes.", float64(m.Sys)},
	} {
		g.gauge(of.name, of.help, of.v)
	}
	for _, of := range []struct {
		name, help string
		v          uint64
	}{
		{"go_memstats_alloc_bytes_total", "Bytes allocated on the heap, including those freed since.", m.TotalAlloc},
		{"go_memstats_mallocs_total", "Objects allocated on the heap.", m.Mallocs},
		{"go_memstats_frees_total", "Objects freed.", m.Frees},
	} {
		g.counter(of.name, of.help, of.v)
	}
}

func gatherPauses(g *gathered) {
	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&stats)
	o := &Observations{Count: uint64(stats.NumGC), Sum: stats.PauseTotal.Seconds()}
	for i, pause := range stats.PauseQuantiles {
		o.Quantiles = append(o.Quantiles, Quantile{float64(i) / float64(len(stats.PauseQuantiles)-1), pause.Seconds()})
	}
	g.family("go_gc_duration_seconds", Summary, "Pauses of the program for garbage collection.")
	g.sample(Sample{Summary: o})
}
