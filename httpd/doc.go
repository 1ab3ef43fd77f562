// Package httpd is the HTTP surface: it reads requests, asks a place.Route for predictions, and writes the answers of the HTTP contract.
// It knows nothing of workers, frames or Python.
//
// Guarantees:
//
//   - Every answer but a stream is JSON, unless the client accepts MessagePack or the output file. Answers to malformed
//     HTTP, oversized bodies and panics are JSON too, and the client can read them while it is still sending.
//   - A request body is checked completely before any of it is used. What a Service receives stays valid after the
//     request: it aliases no memory that fasthttp reuses.
//   - Files in a body go to the Service's Attachments as they arrive, and are removed unless a prediction takes them
//     over. The memory of a body is bounded, compressed or not.
//   - The unread rest of a body is never parsed as a request.
//   - A prediction that Assign returned is waited for or started exactly once, and released exactly once, after the
//     last byte of its record was written or given up.
//   - A synchronous prediction is canceled once if its client disconnects. After the request has returned, the watch on
//     its connection cancels nothing. A client that only shuts down its sending side counts as disconnected.
//   - The client of an asynchronous prediction, one whose wait has ended, or one that follows another's stream may
//     disconnect: that cancels nothing. A stream's subscription ends with its client.
//   - A stream writes all pending events at once, and delays none. A slow client costs a buffer and blocks no other
//     client: it learns how many events it missed.
//   - A stream's status is decided by its first event or first comment: an earlier refusal is an ordinary answer.
//   - A large answer goes from the record to the socket without another copy.
//
// A valid request allocates its body and, if it names one, its id.
//
// fasthttp sets one limit: answers to pipelined requests may be written together, when the last of them is ready.
//
// Package transport has the connections. No lock is held during a call of a Service or a prediction.
//
// Only cmd imports this package.
package httpd
