// Command pinion-nats is the job queue of one host: a NATS server on a folder. 'pinion serve --nats embed' starts it,
// and it ends with that process. runtime/natsserver says how the two speak.
package main
