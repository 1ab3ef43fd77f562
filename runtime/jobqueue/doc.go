// Package jobqueue joins a model's job queue (package store) to predictions: it accepts requests into the queue, runs
// the jobs that this server takes from it, and answers for all jobs of the model, whichever server has them.
//
// A Member is a part of the queue. A server is a member with a Local, which runs jobs; a gateway is one without.
//
//	m, err := jobqueue.Join(jobqueue.Options{Connect: …, Local: service, …})
//	httpd.New(service, httpd.Options{Queue: m, …})   // requests go to m.Accept, m.Find and m.Cancel
//	m.Drain(); m.Release(); m.Close(ctx)             // in this order, when the process stops
//
// Join returns at once where NATS cannot be reached; the member joins the queue when it can. Until then Accept and the
// others return *predict.UnavailableError. The errors of Accept are those of package predict, so httpd.Server can
// answer with them.
//
//	options.go   what a member is made of
//	member.go    joins, serves, leaves
//	accept.go    a request becomes a job
//	schema.go    a gateway checks requests by the schema that the last server wrote
//	version.go   jobs that name a version of the model
//	find.go      state and cancel of any job
//	run.go       a job becomes a prediction of this server
//	events.go    the events of a job of this server, for members that follow it
//	follow.go    a prediction that represents a job of any server
//	followend.go its end, from the state of the job
//	direct.go    predictions that are not jobs, at other servers
//	object.go    the prediction object in a job's state
//	renderer.go  the same for commands
package jobqueue
