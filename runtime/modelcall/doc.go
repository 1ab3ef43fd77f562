// Package modelcall lets a prediction run another model of the same server. Its worker opens a socket for each call, on
// which it sends one request and reads the answer; ipc/PROTOCOL.md shows both. The called model runs it as a client's
// request: checked, queued, batched and traced.
//
// It promises:
//   - The prediction of a call is canceled when the socket closes or the prediction that called ends, whichever comes
//     first.
//   - A model that is already among its callers is refused at once, so that no call waits for itself.
//   - A model whose items the caller does not read pauses, so that few of them wait in the front.
//   - Files of an answer stay until the prediction that called has ended.
//
// Only cmd imports this package.
package modelcall
