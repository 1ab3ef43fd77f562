// Package queue tests the job queue: servers that take jobs from NATS, and gateways.
// Package tests says how.
package queue
