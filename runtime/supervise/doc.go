// Package supervise keeps worker processes alive: it starts them, takes them through their setup,
// gives their slots to the pool, reads what they write, judges each exit once, and starts the next.
//
// It promises: a worker never outlives the front, but for one that SIGKILL does not end (it is frozen, or waits in a
// driver), which is given up and runs nothing of the model's any more; its exit is judged once and in words; no answer
// that it had sent is lost; every byte it wrote is in a prediction's logs, in the setup's, or in the
// server's own.
//
// A Template, where one is asked for, is a process that has imported the model and forks workers, which are this
// process's children nevertheless, and are kept like those that it starts.
//
// A worker is starting, setup, ready, draining, gone. runtime/service reads these states and
// nothing else of it. It imports runtime/slot and ipc.
package supervise
