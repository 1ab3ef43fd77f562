// Command bare is the baseline of the benchmarks: a fasthttp handler without a model behind it. It
// decodes the request with sonic and answers the same prediction object that Pinion answers, made
// with sonic too. What Pinion takes beyond it is what the queue, the worker and Python cost. For batches it is the
// model that sleeps, in the same process. It knows the clients, so its batches are the best possible ones. For tokens it is a
// goroutine that sleeps and writes.
package main
