// Package resources is what a server takes of its container: memory, heap, connections, threads and cores.
//
// Of these Go knows one: it sets GOMAXPROCS by the limit of CPU time, rounded up and never below 2, of the process's
// own control group and not of those around it. It reads no memory limit, and cannot tell a limit of one CPU from one
// of two.
//
// A server that serves models sets Go's collector after each of its runs, so that a small heap does not make it run too
// often, and a large one is only doubled. GOGC in the environment switches this off.
package resources
