// Package batching gathers bodies into batches and has worker programs carry them out that connect by themselves and
// speak the socket protocol of github.com/kemingy/batching. It knows nothing of HTTP but its status codes, in which
// that service's outcomes are defined.
//
//	Queue      what waits, who is idle, and when a batch leaves (runtime/batch decides)
//	Job        one body, from Submit to its answer
//	worker     one connection
//
// It promises:
//
//   - A job ends once: with a worker's answer, with 408 at its time, with 502 where workers were lost with it, or
//     given up by Cancel. It is with its worker in our books before the first byte of it is sent, so no answer comes
//     too early.
//   - What was cancelled or whose time is up is not sent. What was sent before that is carried out, and its
//     answer dropped.
//   - A connection that fails, or says what is not the protocol, ends alone. Its jobs go to another worker once, each
//     in a batch of its own, because one of them may be what the worker died of; never to the worker that lost them.
//     Where no other worker is in service, or that one is lost with it too, the job ends with 502. Jobs of which no byte
//     had been sent wait on as if nothing had happened.
//   - A worker that answers wrongly again and again is set aside for a while; see aside.go.
//   - What a worker claims (lengths, counts) costs no memory before its bytes have come.
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
// An answer's nil counts as an empty body. Ids that are not of the batch are ignored, as answers that come late are.
// An id of the batch that has no answer counts as lost with its worker, but the connection goes on.
//
// # Workers that read a batch at once
//
// ventu 0.4.5 reads a batch with a single recv(2) and takes what that returns for the whole of it: above 36 540 bytes on a
// unix socket, or what the receive window holds on TCP, that may be a part, and the worker dies of it. See whole_linux.go
// for what is done about that.
//
// # Locks
//
// Queue.mu guards the batcher, the workers' phases and the jobs' phases. Nothing that can block is called under it.
//
// cmd/pinion joins this package to httpd. It imports runtime/batch and of the project nothing else.
package batching
