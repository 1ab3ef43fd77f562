// Package ventu gathers bodies into batches for worker programs that connect by themselves. They speak the socket
// protocol of github.com/kemingy/batching. Of HTTP the package uses the status codes alone: that service defines its
// outcomes by them.
//
//	Queue      the waiting jobs and the idle workers; runtime/batch decides when a batch is sent
//	Job        one body, from Submit to its answer
//	worker     one connection
//
// It promises:
//
//   - A job ends once: with a worker's answer, with 408 at its deadline, with 502 if no worker answered it, or by
//     Cancel. It is recorded as sent before its first byte is written, so no answer arrives too early.
//   - A job that was canceled or is past its deadline is not sent. If it was sent before, its answer is dropped.
//   - A connection that fails or breaks the protocol ends alone. Each of its jobs goes once to another worker, in a
//     batch by itself, because it may have crashed the first one. If there is no other worker, or that one fails too,
//     the job ends with 502. Jobs of which no byte was sent return to the queue.
//   - A worker that answers wrongly several times in a row is suspended; see suspension.go.
//   - Lengths and counts that a worker claims cost no memory before the bytes arrive.
//
// # The protocol
//
// Numbers are big-endian and the maps are msgpack. One batch is under way on a connection at any time.
//
//	worker → server   00 00 00 00                                  once, after connecting
//	server → worker   uint32 length | {"<id>": bin body, …}        a batch; an id has 36 characters
//	worker → server   uint32 length | {"<id>": bin or str, …,      its answers, in any order
//	                                   "error_ids": "<id><id>…"}   those of which are errors: 422; may be absent
//
// A nil answer counts as an empty body. Ids that are not of the batch are ignored, and so are late answers. An id of
// the batch without an answer counts as unanswered, but the connection stays.
//
// # Workers that read a batch at once
//
// ventu 0.4.5 reads a batch with a single recv(2) and takes what that returns for the whole of it: above 36 540 bytes
// on a unix socket, or what the receive window holds on TCP, that may be a part, and the worker dies of it. See
// lowat_linux.go for what is done about that.
//
// # Locks
//
// Queue.mu guards the batcher, the workers' phases and the jobs' phases. Nothing that can block is called under it.
//
// cmd/pinion joins this package to httpd.
package ventu
