package ventu

import (
	"cmp"
	"log/slog"
	"time"

	"pinion/runtime/batch"
	"pinion/runtime/connlimit"
)

// Options of a Queue. A zero field takes its default.
type Options struct {
	// MaxSize is the largest batch, 1 to batch.LargestSize. Default: 32.
	MaxSize int

	// Gather is how long a batch that is not full waits for more, from the moment at which there was a first
	// job and an idle worker. Default (negative): the adaptive rule of runtime/batch. 0 never waits.
	Gather time.Duration

	// Capacity is how many jobs may wait for a worker. Default: 1024.
	Capacity int

	// Timeout is how long a job may take in all. Default: 5 s.
	Timeout time.Duration

	// MaxAnswer is the largest answer to one job, in bytes. Default: 100 MiB.
	MaxAnswer int64

	// StallTimeout bounds how long a worker may take none of a batch that is being sent to it, or send nothing
	// of an answer that it has begun. How long it computes is not bounded. Default: 60 s.
	StallTimeout time.Duration

	// LeaveSockets keeps the server from having the sockets of ventu workers wait for whole batches.
	LeaveSockets bool

	// Connections bounds the connections of workers; nil means no limit.
	Connections *connlimit.Limit

	// Logger logs workers that connect and disconnect. The default is none.
	Logger *slog.Logger

	// Observer is called for each event. The default is none.
	Observer Observer
}

// LargestBody bounds MaxAnswer and the bodies of jobs: a message's length has 31 bits in ventu.
const LargestBody = 1<<31 - 1 - mapHeader - jobHeader

// Adaptive is the Gather that leaves it to the adaptive rule.
const Adaptive time.Duration = -1

// Observer is called by many goroutines and must not block.
type Observer interface {
	// Ended reports the end of a job that was accepted.
	Ended(End)
	// Refused reports a job that the full queue refused.
	Refused()
	// Batch reports the size of a batch that was sent, and how long it waited beside an idle worker.
	Batch(size int, wait time.Duration)
	// Connected and Disconnected report workers that have said that they are ready. failed means that the worker did
	// not close its connection.
	Connected()
	Disconnected(failed bool)
	// Suspended reports that a worker gets no batch for a while, because it answers wrongly.
	Suspended()
}

// End is how a job ended.
type End struct {
	Status int           // as Job.Wait has it
	Total  time.Duration // from Submit on
	Queue  time.Duration // the part in which no worker had it
	Worker time.Duration // the part in which a worker had it
}

type noObserver struct{}

func (noObserver) Ended(End)                {}
func (noObserver) Refused()                 {}
func (noObserver) Batch(int, time.Duration) {}
func (noObserver) Connected()               {}
func (noObserver) Disconnected(bool)        {}
func (noObserver) Suspended()               {}

func (o Options) withDefaults() Options {
	o.MaxSize = cmp.Or(o.MaxSize, 32)
	o.Capacity = cmp.Or(o.Capacity, 1024)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, 100<<20)
	o.StallTimeout = cmp.Or(o.StallTimeout, 60*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Observer == nil {
		o.Observer = noObserver{}
	}
	return o
}

// policy returns how runtime/batch is to decide. With a fixed Gather the queue waits by itself, and the rule is asked
// only when the wait is over.
func (o Options) policy() batch.Options {
	if o.Gather < 0 {
		return batch.Options{MaxSize: o.MaxSize}
	}
	return batch.Options{MaxSize: o.MaxSize, MaxWait: batch.AtMost(0)}
}
