// Package store keeps accepted predictions in NATS JetStream until they have ended, so that a job survives its server,
// and any server of the model can run it.
//
// A job is two records. Its message waits in a work-queue stream; its state is a key of a bucket, and every move of a
// job is a compare-and-swap of that key. JetStream delivers at least once. The state makes the result visible once: a
// server that takes a job writes a random claim token into the state, and only the server whose token is there may end
// the job, or acknowledge its message. A server that finds another token no longer owns the job and must not act on it.
//
//	name.go      streams, buckets and subjects of a model
//	layout.go    makes them, or compares them with what is there
//	message.go   what is stored: a job's headers, its state
//	header.go    free text in headers
//	clock.go     the time of NATS, which deadlines and ages are in
//	store.go     reads and swaps states
//	accept.go    a new job: first its state, then its message
//	claim.go     a delivered job: claimed, or why not
//	heartbeat.go  a claimed job: heartbeat, end, release
//	cancel.go    a job that waits or runs is canceled
//	live.go      the events of a job that runs, for members that follow it
//	direct.go    predictions that are not jobs, which other members look up
//	object.go    bodies and results that are too large for a message
//	orphans.go   ends jobs whose message is gone
//	schema.go    what servers write of their model
//	seal.go      hides what clients sent and get from NATS
//	membership.go  the status of all servers
//	hooks.go     has the webhooks of ended jobs posted
//	connect.go   the connection to NATS
//	pull.go      gets jobs from the consumers of all classes and lanes
//	conn.go      that connection as members and commands have it
//	admin.go     what an operator sees, cancels and removes
//	summary.go   how the queues of all models stand
//	retry.go     a dead letter becomes a new job
//	apply.go     new limits, in place
//	server.go    runs as many jobs as slots are free
//	slot.go      a place to run one
//
// The caller runs the predictions and writes their JSON.
package store
