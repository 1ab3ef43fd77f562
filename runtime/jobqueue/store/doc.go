// Package store keeps accepted predictions in NATS JetStream until they have ended, so that a job survives its server,
// and any server of the model can run it.
//
// A job is two records. Its message waits in a work-queue stream; its state is a key of a bucket, and every move of a
// job is a compare-and-swap of that key. JetStream delivers at least once. The state makes the result visible once: a
// server that takes a job writes a random claim token into the state, and only the server whose token is there may end
// the job, or acknowledge its message. A server that finds another token no longer owns the job and must not act on it.
//
//	queue.go    a queue and its parts; finds a job
//	accept.go   a new job: first its state, then its message
//	cancel.go   a job that waits or runs is canceled
//	orphans.go  ends jobs whose message is gone
//
// Its rooms, each of which knows only those before it:
//
//	state    the records and streams, and how they are read and swapped
//	live     what members tell each other
//	consume  jobs that are taken, and webhooks that are posted
//	(here)   what clients ask for
//	admin    what operators ask for
package store
