// Package limits keeps the front within the limits of its container: Go's soft memory limit, the memory budget, and who
// may busy-poll on how many CPUs.
//
// Go sets GOMAXPROCS by the limit of CPU time itself, rounded up and never below 2. It reads that of the process's own
// control group, not of those around it. It reads no memory limit, and cannot tell a limit of one CPU from one of two.
package limits
