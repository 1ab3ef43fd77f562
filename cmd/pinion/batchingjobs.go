package main

import (
	"time"

	"pinion/httpd"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/ventu"
)

// batchingJobs is the queue as httpd wants it.
type batchingJobs struct{ *ventu.Queue }

var _ httpd.Jobs = batchingJobs{}

// Submit implements httpd.Jobs.
func (b batchingJobs) Submit(body []byte) (httpd.Job, bool) {
	job, err := b.Queue.Submit(body)
	return job, err == nil
}

// batchingObserver tells the metrics what the queue does. To them a job is a prediction.
type batchingObserver struct{ set *metrics.Set }

var _ ventu.Observer = batchingObserver{}

// Ended implements ventu.Observer.
func (o batchingObserver) Ended(e ventu.End) {
	end := metrics.End{Status: predict.Failed, Times: predict.Times{Total: e.Total, Queue: e.Queue, Predict: e.Worker}}
	switch e.Status {
	case ventu.StatusDone:
		end.Status = predict.Succeeded
	case ventu.StatusCanceled:
		end.Status = predict.Canceled
	case ventu.StatusInvalid:
		end.Reason = metrics.ReasonValidation
	case ventu.StatusTimeout:
		end.Reason = metrics.ReasonTimeout
	default:
		end.Reason = metrics.ReasonCrash
	}
	o.set.Ended(end)
}

// Refused implements ventu.Observer.
func (o batchingObserver) Refused() {
	o.set.Refused(predict.KindPrediction, predict.Sync, metrics.ReasonCapacity)
}

// Batch implements ventu.Observer.
func (o batchingObserver) Batch(size int, held time.Duration) { o.set.Batch(size, held) }

// Connected implements ventu.Observer.
func (o batchingObserver) Connected() { o.set.WorkerStarted() }

// Suspended implements ventu.Observer.
func (o batchingObserver) Suspended() { o.set.WorkerSetAside() }

// Disconnected implements ventu.Observer.
func (o batchingObserver) Disconnected(failed bool) {
	cause := metrics.ExitLeft
	if failed {
		cause = metrics.ExitCrash
	}
	o.set.WorkerExited(cause)
}
