// Command jobs measures the job queue: how many asynchronous predictions two servers accept and finish in a second, what the queue
// adds to a prediction's time, how long a cancel and a token take across servers, and what --nats costs a synchronous request.
//
// NATS, the servers and the clients are processes of one machine, so the rates are those of that machine divided among them; ratios
// are of rounds that take turns.
package main
