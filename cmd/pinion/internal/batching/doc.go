// Package batching is the server of 'pinion batching': HTTP in front of the queue of runtime/ventu.
package batching
