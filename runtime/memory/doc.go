// Package memory limits the memory that a server holds for its clients: request bodies, inputs, outputs, logs, events,
// answers that are being sent, and predictions that have ended.
//
// There is one Budget. Code that holds memory for a client has a Charge, grows it before it allocates, and releases it
// when the memory is free for the collector. The budget is not divided; it has three marks:
//
//   - New large bodies may fill half of it, so what runs always has the other half. A single body may have more, if it
//     fits below the next mark. A body without room waits, first come, first served (Wait).
//   - What grows above Small bytes may fill seven eighths.
//   - Smaller charges may fill the rest: large predictions never keep small ones from being served.
//
// Ended predictions whose clients have their answers stay until their memory is needed: a charge that does not fit has
// the oldest of them evicted first (SetEvict).
//
// A body below MinCharge bytes is not counted. A small request touches the budget once, when its prediction is
// retained, by one atomic operation.
//
// All methods may be called from any goroutine. The budget holds no lock while it calls another package.
package memory
