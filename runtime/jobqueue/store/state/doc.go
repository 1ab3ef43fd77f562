// Package state is what NATS keeps of a model's job queue: its streams, the records in them, and how they are read and
// swapped. It knows nothing of servers that run jobs.
//
//	name.go      streams, buckets and subjects of a model
//	layout.go    makes them, or compares them with what is there
//	message.go   what is stored: a job's headers, its state
//	statejson.go the state in JSON
//	header.go    free text in headers
//	clock.go     the time of NATS, which deadlines and ages are in
//	store.go     reads and swaps states
//	publish.go   asks NATS until it answers
//	object.go    bodies and results that are too large for a message
//	transfer.go  their way on slow links
//	schema.go    what servers write of their model
//	summary.go   how the queues of all models stand
//	seal.go      hides what clients sent and get from NATS
//	connect.go   the connection to NATS
//	conn.go      that connection as members and commands have it
//	errors.go    what NATS refused, or did not answer
package state
