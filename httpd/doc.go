// Package httpd is the HTTP surface: it reads requests, calls a Service, and writes the answers of
// the HTTP contract. It knows nothing of workers, frames or Python.
//
// It promises:
//
//   - Every answer but a stream's is JSON unless its client asks for MessagePack, or for a file and there is one;
//     those to malformed HTTP, oversized bodies and panics too, and the client can read it although the server has not
//     read all that the client sent.
//   - A request body is checked strictly before any of it is believed, and what a Service is handed
//     stays valid after the request: nothing aliases memory that fasthttp uses again.
//   - Files in a body go to the Service's Inbox as they come, and none is left there that no prediction has taken.
//     What a body becomes in memory is bounded, compressed or not.
//   - What nobody read of a body is never taken for a request.
//   - A prediction that Create returned is waited for or started exactly once and released exactly once,
//     after the last byte of its record was written or given up.
//   - A synchronous prediction whose client leaves is cancelled, once; and once the request has
//     returned, the watch on its connection cancels nothing any more, whatever comes on that connection
//     or under its descriptor's number. Leaving means that the client has closed its side: a client
//     that only shuts down its sending side is taken to have left.
//   - Whoever asked for an asynchronous one, has waited for as long as it wanted to, or follows the
//     stream of another's, may leave: that cancels nothing. A stream's subscription ends with its client.
//   - A stream writes what has happened at once, all that is there in one write, and gathers nothing. A
//     client that takes it too slowly costs a buffer and holds up nobody: it is told what it missed.
//   - A stream's status is decided with its first event, or its first comment: what is refused before that
//     is answered as such.
//   - A big answer goes from the record to the socket without another copy of it in memory.
//   - Of many connections those that are idle cost little: they are parked, and no request is lost by that. All
//     timeouts hold for them too.
//
// A request with nothing wrong allocates its body and, where it names one, its id.
//
// One limit comes with fasthttp: answers to pipelined requests may leave together, when the last of
// those that have arrived is done.
//
// Locks, in the order in which they may nest: Server.mu, then watcher.mu or parking.mu. None is held while a Service
// or a prediction is called.
//
// Only cmd imports this package. It imports runtime/predict, runtime/rawjson and httpd/msgpack, and of the project
// nothing else.
package httpd
