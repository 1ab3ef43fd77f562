// Package natsserver is a NATS server with JetStream that keeps the job queue of one host in a folder. cmd/pinion-nats
// runs it in a separate process: linked into the command, it would cost each front and each worker its memory and its
// initialisation.
//
//	server.go  starts NATS on a folder, and says whether its store works
//	main.go    the process: flags, the socket of its clients, its end
//	log.go     what NATS logs
//
// runtime/jobqueue/store starts the process. The two speak by three pipes and a socket:
//
//	stdin         a line asks whether the store works, and ends a server whose store does not; the end of file ends any
//	stdout        one line: "ready", or why it cannot start
//	stderr        a line for each warning and error
//	descriptor 3  the socket that listens for clients
//
// Only cmd/pinion-nats and tests import it.
package natsserver
