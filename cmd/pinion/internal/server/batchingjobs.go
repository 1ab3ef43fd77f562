package server

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

func (b batchingJobs) Submit(body []byte) (httpd.Job, bool) {
	job, err := b.Queue.Submit(body)
	return job, err == nil
}

// batchingObserver tells the metrics what the queue does. To them a job is a prediction.
type batchingObserver struct{ set *metrics.Set }

var _ ventu.Observer = batchingObserver{}

func (o batchingObserver) Ended(e ventu.End) {
	end := predict.End{Status: predict.Failed, Times: predict.Times{Total: e.Total, Queue: e.Queue, Predict: e.Worker}}
	switch e.Status {
	case ventu.StatusDone:
		end.Status = predict.Succeeded
	case ventu.StatusCanceled:
		end.Status = predict.Canceled
	case ventu.StatusInvalid:
		end.Reason = predict.ReasonValidation
	case ventu.StatusTimeout:
		end.Reason = predict.ReasonTimeout
	default:
		end.Reason = predict.ReasonCrash
	}
	o.set.Ended(end)
}

func (o batchingObserver) Refused() {
	o.set.Refused(predict.KindPrediction, predict.Sync, predict.ReasonCapacity)
}

func (o batchingObserver) Batch(size int, held time.Duration) { o.set.Batch(size, held) }

func (o batchingObserver) Connected() { o.set.WorkerStarted() }

func (o batchingObserver) Suspended() { o.set.WorkerSetAside() }

func (o batchingObserver) Disconnected(failed bool) {
	cause := metrics.ExitLeft
	if failed {
		cause = metrics.ExitCrash
	}
	o.set.WorkerExited(cause)
}
