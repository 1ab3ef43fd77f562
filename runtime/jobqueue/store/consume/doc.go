// Package consume takes what waits in a queue: jobs, and the webhooks of those that have ended.
//
//	server.go     runs as many jobs as slots are free
//	slot.go       a place to run one
//	pull.go       gets jobs from the consumers of all classes and lanes
//	claim.go      a delivered job: claimed, or why not
//	heartbeat.go  a claimed job: heartbeat, end, release
//	follow.go     tells other members of a job that runs here, and of predictions that are not jobs
//	hooks.go      has the webhooks of ended jobs posted
//
// The caller runs the predictions and writes their JSON.
package consume
