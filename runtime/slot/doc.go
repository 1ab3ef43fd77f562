// Package slot decides which slot carries which prediction, and is the front's side of each slot's
// channel: admission, the queue, the window of requests that lie in a worker's socket, their claim
// words, cancelling, and what becomes of them when a worker is lost.
//
// It promises: what was admitted ends exactly once; the model sees a prediction at most once; no
// prediction waits behind a busy slot while another is idle; a place is free again before the
// answer that freed it is seen by anybody.
//
// A slot is idle (nothing outstanding), leased (one or more outstanding), or lost with its worker.
// Everything is guarded by the one lock of Pool; no call that can block is made under it.
//
// runtime/supervise attaches and detaches workers; runtime/service submits calls. It knows frames
// (ipc) but neither processes nor HTTP.
package slot
