// Package transport has the connections of an HTTP/1 server, below its handlers: it accepts them, reads requests under
// deadlines, refuses ambiguous ones, parks idle connections, and tells when a client has disconnected. fasthttp parses
// and serves what it passes on.
//
//	t := transport.New(transport.Options{…})
//	t.Use(&fasthttp.Server{…})   // adds the hooks and sizes that a Transport needs
//	go t.Serve(ln)
//	t.Shutdown(ctx)
//
// Guarantees:
//
//   - Bytes that a proxy might split into requests differently never reach fasthttp.
//   - Open connections are bounded, with those of other servers of the process. The oldest idle ones are closed for new
//     ones; if none is idle, a new one gets Options.TooMany.
//   - A client that sends slowly is cut when others wait for the memory that its header or body holds.
//   - Idle connections are parked when there are many. That loses no request, and all timeouts still apply.
//   - A client can read the last answer even while it is still sending.
//   - After Unwatch has returned, the watch cancels nothing.
//
// In steady use a connection allocates nothing for a request.
//
//	transport.go          serves and shuts down; all open connections
//	listener.go           accepts, or refuses
//	conn.go               one connection: phases, reads, writes, close
//	secured.go            TLS over the socket
//	framing.go            the boundaries of requests
//	arrival.go            memory of what is being received
//	park_linux.go         idle connections in an epoll set
//	feed.go               reads requests while they are answered
//	switch.go             connections that speak another protocol from now on
//	disconnect_linux.go   watches clients whose predictions run
//	readahead_linux.go    what such a client has sent behind its request
//
// Lock order: connTable.mu, then watcher.mu or parking.mu. No lock is held during a call of a Canceler.
//
// Only httpd imports this package.
package transport
