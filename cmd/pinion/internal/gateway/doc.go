// Package gateway is the server of 'pinion gateway': the HTTP API of a model without the model. All requests go to the
// job queue.
package gateway
