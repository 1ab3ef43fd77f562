// Package connlimit bounds how many connections a process has open, at all its listeners together.
//
// Guarantees:
//
//   - A connection that Enter refused is not counted; one that it took is counted until Place.Leave.
//   - Connections that made room and are still open are few: Enter waits until they are closed, so that the process keeps
//     descriptors for other uses.
//   - When the bound is reached, the connections that have been idle for longest are closed for new ones; if none is
//     idle, those whose clients have sent the least of a request, then those whose clients do not read their answers.
//     No other connection with a whole request in flight is closed.
//   - A connection that has just been opened or answered is closed last: its client may be about to send. If it is the
//     only idle one of its client, it is not closed.
//   - The client that has the most idle connections loses its own first.
//   - A Part has a bound of its own, and a few connections more than the rest: so probes and metrics on a port of their
//     own are answered while clients use the whole limit.
//
// All methods may be called from any goroutine. No lock is held while a source or a connection is called.
package connlimit
