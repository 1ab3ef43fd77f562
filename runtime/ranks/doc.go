// Package ranks joins the processes of a group to one worker of one slot.
//
// The Relay is at the other end of the slot's channel. To the slot it behaves as a worker does: it claims requests, one
// at a time, and ends each once. It passes each request to all ranks, and the next one only when all have ended the one
// before. So the ranks begin the same requests in the same order, and no rank waits alone in a collective.
//
// It promises:
//
//   - Rank 0 answers: its events, items, metrics and output are the prediction's. The end comes when all ranks have
//     ended.
//   - If a rank dies, it answers nothing more: the supervisor says why.
//   - If a rank raises, the prediction fails with that rank's error, at once. If another rank has not ended LateAfter
//     later, Options.Late is called.
//   - A batch has the same items in the same order on all ranks. An item that is dropped after its batch began is
//     answered by the relay, because ranks would see the drop at different times.
//   - A cancel stops all ranks at one step (ipc.StopTogether).
//
// runtime/supervise starts and ends the processes. The package knows frames (ipc), but neither processes nor HTTP.
package ranks
