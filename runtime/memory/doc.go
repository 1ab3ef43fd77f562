// Package memory bounds the memory that a server holds for its clients: request bodies, inputs, outputs, logs, events, answers
// on their way out, and predictions that have ended.
//
// There is one Budget. Whoever holds memory for a client has a Charge, grows it before it allocates, and releases it when the
// memory is free for the collector. The budget has no parts of its own but three marks:
//
//   - New large bodies are taken up to half of it, so that what is running always has the other half. One body alone may have
//     more, as long as it fits below the next mark. A body for which there is no room waits, first come, first served (Wait).
//   - What grows above Small bytes is taken up to seven eighths.
//   - What is smaller may take the rest: large predictions never keep small ones from being served.
//
// Predictions that have ended and whose clients have their answers are kept as long as nobody else needs the room: a charge
// that does not fit has the oldest of them removed first (SetEvict).
//
// A body below Least bytes is not counted: an ordinary small request touches the budget once, when its prediction is kept, by
// one atomic operation.
//
// All methods may be called from any goroutine. No lock is held while the budget calls another package.
package memory
