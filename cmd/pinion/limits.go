package main

import (
	"os"
	"runtime"
	"runtime/debug"

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

// hasCores tells whether the front may keep a core busy while a worker is: there are two, and time for both.
func hasCores() bool {
	limit := supervise.CPULimit()
	return runtime.GOMAXPROCS(0) > 1 && (limit == 0 || limit >= 2)
}
