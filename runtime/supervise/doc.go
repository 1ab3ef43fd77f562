// Package supervise keeps worker processes alive: it starts them, takes them through their setup, gives their slots to
// the pool, reads what they write, classifies each exit, and starts the next.
//
// It promises:
//
//   - A worker never outlives the front. The exception is one that SIGKILL does not end, because it is frozen or waits
//     in a driver: it is given up, and runs nothing of the model's any more.
//   - Each exit is classified once, and described in words.
//   - No answer that a worker sent is lost.
//   - Every byte that a worker wrote is in the logs of a prediction or of the setup, or in the server's own.
//
// A Preloader keeps a process that has imported the model and forks workers. These become this process's children and
// are kept like those that it starts.
//
// A worker is starting, setup, ready, draining or exited (state.go).
package supervise
