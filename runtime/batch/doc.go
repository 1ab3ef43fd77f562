// Package batch decides which predictions leave together for a worker, and when. It is pure: no I/O, no
// locks, no goroutines, no clock. Its owner tells it what happens, with the moment at which it happened, and
// asks for batches. A moment is a time.Duration since an origin of the owner's choice, the same in all
// calls; it never goes backwards.
//
//	Batcher    what waits, by key; all that its owner calls
//	Policy     the rule: run now, with how many, or wait until when
//	Cost       what a batch of n takes, learned
//	Arrivals   when more may come, learned
//
// It promises, of what was added and not removed: each item leaves once, in one batch; a batch holds items of
// one key, and at most MaxSize; within a key first come is first served; of several keys the one with the
// oldest item goes first, so that none is starved; nothing is held back from an idle worker beyond the bound
// in Options.
//
// # The rule
//
// A batch leaves when it is full, and otherwise at once, unless it pays to wait. To run k now and n that come
// meanwhile after that takes C(k) + C(n) of the worker's time, to run them together C(k+n). The saving
//
//	s = C(k) + C(n) - C(k+n)
//
// is a where C(n) = a + b·n. A wait of w delays everybody who waits by w, and those who come, who would have found
// the worker free. So the policy looks for the w, within the bound, with the largest
//
//	s · E(how many come within w) - (how many wait then, and one) · E(the wait)
//
// and waits while that is above 0. Two decaying histograms tell what may come. After an arrival: the time from one
// arrival to the next, of those gaps that began while a worker was idle; for the next one only, n = 1. After a
// batch's end: the times from a batch's end to the arrivals after it, for each item that had ended, which is how
// clients that wait for their answers come back; n as many as are expected of those who are not back yet. Where there
// is one worker both are asked, and the longer wait counts: a gap that is longer than usual is no reason to leave without
// half of the clients. Where there are several, what comes may be of another's batch, so the second is asked only until
// something arrives. Both count what they do not know as never coming, so that without experience nothing waits.
//
// The bound is Options.MaxWait, from the moment at which an idle worker was first refused. While it is
// adaptive, the wait for the next arrival is at most a tenth of the batch's own time, and all waits of a batch
// together at most 5 ms and at most half of that time.
//
// Where several workers are idle, what comes would not have to wait for this batch, so the delay counts once for
// each of them. Where other keys wait too, what comes may be of another key, so the saving counts as often as
// arrivals in a row had the same key.
//
// Not all leave where fewer, and at least half, cost clearly less each: on a device whose time goes up in
// steps, 16 of 20 that are ready leave, and 4 go with the next batch.
//
// docs/batching-simulation.md compares the rule with others under many loads.
//
// runtime/slot may import this package; it imports nothing of ours.
package batch
