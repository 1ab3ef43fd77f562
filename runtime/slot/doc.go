// Package slot hands predictions to the slots of the workers, and is the front's side of their sockets.
//
// It has three parts, under the one lock of Pool:
//
//	admission   which calls enter, the queue of those without a slot, their deadlines
//	channel     the socket of a slot, or of all slots of an event loop: the leader that reads it, its frames, the window
//	dispatcher  which calls leave together as a batch, for models with batches
//
// It promises: an admitted call ends exactly once; the model sees a prediction at most once, unless
// BatchOptions.Isolate says otherwise; no call waits behind a busy slot while another slot is idle (with threads:
// for more than a millisecond); capacity is free again before the answer that frees it is visible.
//
// A slot is idle (no call outstanding), leased (one or more outstanding), or closed (its worker is lost). No call that
// can block is made under the lock.
//
// runtime/supervise attaches and detaches workers; runtime/service submits calls. The package knows frames (ipc), but
// neither processes nor HTTP.
package slot
