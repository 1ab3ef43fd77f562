package main

import (
	"time"

	"pinion/httpd"
	"pinion/runtime/batching"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
)

// batchingJobs is the queue as httpd wants it.
type batchingJobs struct{ *batching.Queue }

var _ httpd.Jobs = batchingJobs{}

// Submit implements httpd.Jobs.
func (b batchingJobs) Submit(body []byte) (httpd.Job, bool) {
	job, err := b.Queue.Submit(body)
	return job, err == nil
}

// batchingObserver tells the metrics what the queue does. To them a job is a prediction.
type batchingObserver struct{ set *metrics.Set }

var _ batching.Observer = batchingObserver{}

// Ended implements batching.Observer.
func (o batchingObserver) Ended(e batching.End) {
	end := metrics.End{Status: predict.Failed, Total: e.Total, Queue: e.Queue, Predict: e.Worker}
	switch e.Status {
	case batching.StatusDone:
		end.Status = predict.Succeeded
	case batching.StatusGone:
		end.Status = predict.Canceled
	case batching.StatusInvalid:
		end.Reason = metrics.ReasonValidation
	case batching.StatusTimeout:
		end.Reason = metrics.ReasonTimeout
	default:
		end.Reason = metrics.ReasonCrash
	}
	o.set.Ended(end)
}

// Refused implements batching.Observer.
func (o batchingObserver) Refused() {
	o.set.Refused(predict.KindPrediction, predict.Sync, metrics.ReasonCapacity)
}

// Batch implements batching.Observer.
func (o batchingObserver) Batch(size int, held time.Duration) { o.set.Batch(size, held) }

// Connected implements batching.Observer.
func (o batchingObserver) Connected() { o.set.WorkerStarted() }

// SetAside implements batching.Observer.
func (o batchingObserver) SetAside() { o.set.WorkerSetAside() }

// Disconnected implements batching.Observer.
func (o batchingObserver) Disconnected(failed bool) {
	cause := metrics.ExitLeft
	if failed {
		cause = metrics.ExitCrash
	}
	o.set.WorkerExited(cause)
}
