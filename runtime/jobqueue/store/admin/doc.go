// Package admin looks at the queue of a model and repairs it, for an operator.
//
//	admin.go      what waits, runs and has died; cancels and removes
//	endedjobs.go  what has ended
//	retry.go      a dead letter becomes a new job
//	apply.go      new limits, in place
package admin
