// Package asker makes one prediction or training, in a worker for it alone or at a running server, and prints what came
// of it.
package asker
