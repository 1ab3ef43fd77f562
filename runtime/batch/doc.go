// Package batch decides which predictions leave together for a worker, and when. It is a pure policy: no I/O, no locks,
// no goroutines, no clock. Its owner reports what happens and when, and asks for batches. A time is a time.Duration
// since an origin of the owner's choice, the same in all calls; it never goes backwards.
//
//	Batcher    what waits, by key; the owner's interface
//	Policy     the rule: run now, with how many, or wait until when
//	Cost       what a batch of n takes, learned
//	Arrivals   when more may arrive, learned
//
// It promises for items that are added and not removed: each leaves once, in one batch; a batch has items of one key,
// and at most MaxSize; within a key items leave in the order of arrival; of several keys the one with the oldest item
// goes first, so none is starved; no item is held back from an idle worker beyond the bound in Options.
//
// # The rule
//
// A full batch leaves at once. Any other leaves at once too, unless it pays to wait. Running k items now and then n
// that arrive meanwhile takes C(k) + C(n) of the worker's time; running them together takes C(k+n). The saving
//
//	s = C(k) + C(n) - C(k+n)
//
// equals a if C(n) = a + b·n. A wait of w delays all waiting items by w, and also those that arrive, which would have
// found the worker free. So the policy looks for the w within the bound that maximizes
//
//	s · E(arrivals within w) - (items waiting then, plus one) · E(the wait)
//
// and waits while that is above 0. Two decaying histograms predict the arrivals:
//
//   - After an arrival: the time from one arrival to the next, of gaps that began while a worker was idle. It predicts
//     the next arrival only: n = 1.
//   - After a batch's end: the time from that end to each arrival after it. It predicts how clients that wait for their
//     answers return; n is how many of those that have not returned are expected.
//
// With one worker both are used, and the longer wait counts: one unusually long gap must not split the clients in two
// groups. With several workers an arrival may answer another worker's batch, so the second is used only until something
// arrives. Both count what they do not know as never arriving, so without experience nothing waits.
//
// The bound is Options.MaxWait, counted from the time at which an idle worker was first refused. If it is adaptive, the
// wait for the next arrival is at most a tenth of the batch's expected duration, and all waits of a batch together are
// at most 5 ms and at most half of that duration.
//
// If several workers are idle, an arrival need not wait for this batch; so the delay counts once for each of them. If
// other keys wait too, an arrival may have another key; so the saving is weighted by how often arrivals in a row had
// the same key.
//
// Not all items leave if fewer, and at least half, cost clearly less each. For example, on a device whose time rises in
// steps, 16 of 20 ready items leave, and 4 go with the next batch.
//
// docs/explanation/batching-simulation.md compares the rule with others under many loads.
package batch
