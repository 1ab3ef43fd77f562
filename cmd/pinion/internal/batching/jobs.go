package batching

import (
	"time"

	"pinion/httpd"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/ventu"
)

// jobs is the queue as httpd wants it.
type jobs struct{ *ventu.Queue }

var _ httpd.Jobs = jobs{}

func (b jobs) Submit(body []byte) (httpd.Job, bool) {
	job, err := b.Queue.Submit(body)
	return job, err == nil
}

// observer tells the metrics what the queue does. To them a job is a prediction.
type observer struct{ set *metrics.Set }

var _ ventu.Observer = observer{}

func (o observer) Ended(e ventu.End) {
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

func (o observer) Refused() {
	o.set.Refused(predict.KindPrediction, predict.Sync, predict.ReasonCapacity)
}

func (o observer) Batch(size int, held time.Duration) { o.set.Batch(size, held) }

func (o observer) Connected() { o.set.WorkerStarted() }

func (o observer) Suspended() { o.set.WorkerSetAside() }

func (o observer) Disconnected(failed bool) {
	cause := metrics.ExitLeft
	if failed {
		cause = metrics.ExitCrash
	}
	o.set.WorkerExited(cause)
}
