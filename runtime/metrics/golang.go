package metrics

import (
	"runtime"
	"runtime/debug"
	"time"
)

// writeGo adds the state of Go's runtime, under the usual names. Reading it stops the program for about 20 µs. Package
// runtime/metrics would not, but each worker would pay its initialisation.
func writeGo(p *page) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	writePauses(p)
	threads, _ := runtime.ThreadCreateProfile(nil)
	p.family("go_info", typeGauge, "The version of Go; the value is 1.")
	p.float("go_info", labels("version", runtime.Version()), 1)
	for _, g := range []struct {
		name, help string
		v          float64
	}{
		{"go_goroutines", "Goroutines.", float64(runtime.NumGoroutine())},
		{"go_threads", "Threads of the operating system that were created.", float64(threads)},
		{"go_sched_gomaxprocs_threads", "Threads that may run Go code at once.", float64(runtime.GOMAXPROCS(0))},
		{"go_memstats_alloc_bytes", "Heap in use by objects, in bytes.", float64(m.Alloc)},
		{"go_memstats_heap_idle_bytes", "Heap not in use, in bytes.", float64(m.HeapIdle)},
		{"go_memstats_heap_inuse_bytes", "Heap in use, in bytes.", float64(m.HeapInuse)},
		{"go_memstats_heap_objects", "Objects on the heap.", float64(m.HeapObjects)},
		{"go_memstats_heap_released_bytes", "Heap given back to the operating system, in bytes.", float64(m.HeapReleased)},
		{"go_memstats_next_gc_bytes", "Size of the heap at which the next collection begins, in bytes.", float64(m.NextGC)},
		{"go_memstats_stack_inuse_bytes", "Memory in use by goroutines' stacks, in bytes.", float64(m.StackInuse)},
		{"go_memstats_sys_bytes", "Memory had from the operating system, in bytes.", float64(m.Sys)},
	} {
		p.gauge(g.name, g.help, g.v)
	}
	for _, c := range []struct {
		name, help string
		v          uint64
	}{
		{"go_memstats_alloc_bytes_total", "Bytes allocated on the heap, those freed since included.", m.TotalAlloc},
		{"go_memstats_mallocs_total", "Objects allocated on the heap.", m.Mallocs},
		{"go_memstats_frees_total", "Objects freed.", m.Frees},
	} {
		p.family(c.name, typeCounter, c.help)
		p.count(c.name, "", c.v)
	}
}

// writePauses adds the garbage collector's pauses.
func writePauses(p *page) {
	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&stats)
	const name = "go_gc_duration_seconds"
	p.family(name, typeSummary, "Pauses of the program for garbage collection.")
	for i, pause := range stats.PauseQuantiles {
		quantile := appendFloat(nil, float64(i)/float64(len(stats.PauseQuantiles)-1), p.open)
		p.float(name, `quantile="`+string(quantile)+`"`, pause.Seconds())
	}
	p.float(name+"_sum", "", stats.PauseTotal.Seconds())
	p.whole(name+"_count", "", uint64(stats.NumGC))
}
