// Package natshost runs the job queue of one host: a NATS server with JetStream on a folder, in a process of pinion-nats
// (runtime/natsserver) that it starts, watches and ends.
//
//	host.go     the folder: its lock, its disk, the restarts of the server
//	process.go  the process
//	socket.go   its socket, for this process and for commands of the same host
package natshost
