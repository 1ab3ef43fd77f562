// Package front is the server of 'pinion serve'. It joins HTTP and the other protocols, predictions, workers, the job
// queue, metrics and traces, and it starts, reloads and stops them. It never loads Python.
package front
