// Package protocol is how the other protocols (Open Inference Protocol, OpenAI, …) call predictions. A protocol is a
// package beside this one that translates at the edge: it reads its requests, calls a Model, and writes its answers and
// errors. The predictions are those of the native API, with its validation, queue, batches, limits, metrics and logs.
//
// A protocol's package has a New(models Models) Protocol. cmd passes its result to httpd.Options.Protocols. A handler
// gets an Exchange, which reads the body, ties a call to its client, and writes streams:
//
//	func (p *protocol) predict(x *protocol.Exchange) {
//		m, err := p.models.Find(name, "")           // *Error of kind Unknown
//		body, err := x.Body()
//		got, err := x.Predict(m, protocol.Call{Inputs: rows, Body: body})
//		if err != nil { …; return }                // *Error: each protocol maps Kind to its own shape
//		defer got.Release()
//		… got.List[i].Output …                      // JSON, of the answers: got.Send sends it, x.Send a copy
//	}
//
// Without HTTP, Model.Begin starts a call: Run.Wait ends it, Run.Follow streams it, Run.Cancel cancels it from any
// goroutine.
//
// Guarantees:
//
//   - A request of n rows is n predictions, submitted together, so one batch takes them if the model batches. They take
//     the place of one prediction: the first is admitted or refused, the others wait their turn.
//   - All rows are checked before one of them runs. If a row is invalid or fails, the others are canceled, and the
//     error has the row's number.
//   - A call whose client disconnects is canceled.
//   - What Call.Body and Call.Attachments hold is freed once, when the last prediction is done with it, or the call was
//     refused.
//   - No error text needs to be matched: Error has a Kind.
package protocol
