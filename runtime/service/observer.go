package service

import (
	"errors"
	"time"

	"pinion/ipc"
	"pinion/runtime/predict"
	"pinion/runtime/slot"
	"pinion/runtime/trace"
)

// Observer receives the ends of predictions. The goroutine that runs the prediction calls it before the end is visible
// to clients: it must not block.
type Observer interface {
	// Ended means that an accepted prediction has ended.
	Ended(e predict.End)
	// Refused means that a prediction was not accepted, for one of the reasons that predict names. A mistake in the
	// request itself (an id that is in flight, a mode that the model lacks) is not reported.
	Refused(kind predict.Kind, mode predict.Mode, reason string)
	// FirstOutput means that the model yielded the first item of an observed prediction, that long after its
	// acceptance; in is predict.End.Trace.
	FirstOutput(after time.Duration, in *trace.Context)
	// NextOutput means that the model yielded another item, that long after the one before.
	NextOutput(after time.Duration)
	// Session means that a prediction whose streamed input comes meanwhile has begun to wait for a slot, or has ended.
	Session(begun bool)
	// StreamItem means that an item of a session has come, or was yielded.
	StreamItem(yielded bool, bytes int)
}

// observeSession reports the beginning or the end of a session to the observer.
func (x *execution) observeSession(begun bool) {
	if o := x.service.o.Observer; o != nil && x.p.Request.Inlet != nil {
		o.Session(begun)
	}
}

// observe notes where the execution's time went until now, and reports its end to the observer. waited is its time in
// the queue. Where the model never ran it counts all time but that of the files.
func (x *execution) observe(r *predict.Result, waited time.Duration, reason string, now time.Time) {
	if x.spans != nil && x.call != nil {
		x.spans.submitted = x.call.Submitted().UnixNano()
	}
	x.spans.described(x.p, r)
	x.spans.ended(x.p, r, waited, reason, now)
	if r.Status == predict.Failed {
		r.Reason = reason
	}
	r.Times = predict.Times{Total: now.Sub(x.arrived), Queue: waited, Files: x.transfers, Predict: r.Elapsed}
	if r.Elapsed == 0 && reason != predict.ReasonFiles {
		r.Times.Queue = r.Times.Total - r.Times.Files
	}
	o := x.service.o.Observer
	if o == nil {
		return
	}
	req := &x.p.Request
	e := predict.End{
		Kind: req.Kind, Mode: req.Mode, Status: r.Status, Times: r.Times, Metrics: r.Metrics,
		Trace: x.spans.sampled(),
	}
	if e.Status == predict.Failed {
		e.Reason = reason
	}
	o.Ended(e)
	if x.call != nil {
		x.observeSession(false)
	}
}

// observeItem reports a yielded item to the observer. Trainings are not timed.
func (x *execution) observeItem() {
	o := x.service.o.Observer
	if o == nil || x.p.Request.Kind != predict.KindPrediction {
		return
	}
	now := time.Since(x.arrived)
	if x.items == 1 {
		o.FirstOutput(now, x.spans.sampled())
	} else {
		o.NextOutput(now - x.yielded)
	}
	x.yielded = now
}

func (s *Service) refused(req *predict.Request, err error) {
	if s.o.Observer == nil {
		return
	}
	if reason := predict.RefusalOf(err).Reason(); reason != "" {
		s.o.Observer.Refused(req.Kind, req.Mode, reason)
	}
}

// failure returns why the call with this result failed.
func failure(r *slot.Result) string {
	switch {
	case r.Err == nil && r.Kind == ipc.KindFailed:
		return predict.ReasonModel
	case r.Err == nil, errors.Is(r.Err, slot.ErrWorkerExit): // an invalid answer is not the model's fault
		return predict.ReasonCrash
	case predict.RefusalOf(r.Err).Kind == predict.RefusedUnavailable:
		return predict.ReasonUnavailable
	default: // *slot.TimeoutError, predict.ErrQueueTimeout
		return predict.ReasonTimeout
	}
}
