// Package workers tests workers and the Python in them: setup, batches, crashes, restarts, memory, logs, stops.
// Package tests says how.
package workers
