package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"pinion/runtime/slot"
	"pinion/runtime/supervise"
)

// A container's limits. That of CPU time Go reads by itself (since 1.25, and again while it runs): rounded up, and
// never below 2, it sets GOMAXPROCS. It reads that of the process's own control group, not of those around it. That
// of memory it does not read, nor does it tell a limit of one CPU from one of two.

// memoryShare is the front's part of the memory that it and its workers may have: near it, Go's collector
// works harder rather than let the heap grow. It is soft: nothing fails above it.
const memoryShare = 2 // one half

// heedMemoryLimit sets Go's soft limit by the control group's, unless GOMEMLIMIT says otherwise. It returns
// what it set, or 0.
func heedMemoryLimit() int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	limit := supervise.MemoryLimit()
	if limit <= 0 {
		return 0
	}
	debug.SetMemoryLimit(limit / memoryShare)
	return limit / memoryShare
}

// cores is for how many CPUs there is time.
func cores() int {
	n := runtime.GOMAXPROCS(0)
	if limit := supervise.CPULimit(); limit > 0 {
		n = min(n, int(limit))
	}
	return n
}

// mayWait is who may keep a core busy while it waits: the front beside a worker, and the workers where there is a core for each
// and one for the front.
func mayWait(workers, cores int) slot.Spin {
	return slot.Spin{Front: cores > 1, Workers: cores > workers, Pressure: supervise.CPUPressure()}
}
