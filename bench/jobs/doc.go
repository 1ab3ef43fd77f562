// Command jobs measures the job queue: how many asynchronous predictions two servers accept and finish in a second,
// what the queue adds to a prediction's time, how long a cancel and a token take across servers, what --nats costs a
// synchronous request, and how evenly the queue and a balancer fill servers.
//
// Beside the rates of the servers are those of a bare client, which makes the same writes to the same NATS without a
// model and without Python: what this machine allows.
//
// NATS, the servers and the clients are processes of one machine, so the rates are those of that machine divided among
// them; ratios are of rounds that take turns.
package main
