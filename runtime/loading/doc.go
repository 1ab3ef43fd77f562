// Package loading is the life of a model among several: whether it has processes, and which models go where memory is
// scarce. It decides and does nothing: no I/O, no clock, no goroutines.
package loading
