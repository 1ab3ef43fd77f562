package service

import (
	"errors"
	"time"

	"pinion/ipc"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/slot"
)

// Observer is told of the ends of predictions. It is called by the goroutine that carries the prediction out, before
// anybody else learns of its end: it must not block.
type Observer interface {
	// Ended: a prediction that was taken in has ended.
	Ended(e End)
	// Refused: one was not taken in; reason is one of the reasons below. What is wrong with the request itself (an id
	// that is in flight, a mode that the model does not have) is not told.
	Refused(kind predict.Kind, mode predict.Mode, reason string)
}

// Why a prediction failed or was not taken in.
const (
	reasonModel       = "model"
	reasonValidation  = "validation"
	reasonFiles       = "files"
	reasonCrash       = "crash"
	reasonTimeout     = "timeout"
	reasonCapacity    = "capacity"
	reasonUnavailable = "unavailable"
	reasonMemory      = "memory"
)

// End is how a prediction ended.
type End struct {
	Kind   predict.Kind
	Mode   predict.Mode
	Status predict.Status // Succeeded, Failed or Canceled
	Reason string         // of a failure
	// Total is the time from when it was taken in to its end.
	Total time.Duration
	// Queue is the part of it in which every slot was busy; Files that in which files were transferred before
	// or after the model had it; Predict that in which the model had it, 0 where it never had.
	Queue, Files, Predict time.Duration
	// Metrics is a JSON object: predict_time and what the model recorded. It is valid during the call only.
	Metrics []byte
}

// observe tells the observer of the job's end. waited is for how long it waited for a slot; of what the model never
// had it is not known otherwise than that it is all the time but that for its files.
func (j *job) observe(r *predict.Result, waited time.Duration, reason string) {
	o := j.service.o.Observer
	if o == nil {
		return
	}
	req := &j.p.Request
	e := End{
		Kind: req.Kind, Mode: req.Mode, Status: r.Status, Total: time.Since(j.arrived),
		Queue: waited, Files: j.transfers, Predict: r.Elapsed, Metrics: r.Metrics,
	}
	if e.Status == predict.Failed {
		e.Reason = reason
	}
	if r.Elapsed == 0 && reason != reasonFiles {
		e.Queue = e.Total - e.Files
	}
	o.Ended(e)
}

// refused tells the observer of a refusal.
func (s *Service) refused(req *predict.Request, err error) {
	if s.o.Observer == nil {
		return
	}
	if reason := refusal(err); reason != "" {
		s.o.Observer.Refused(req.Kind, req.Mode, reason)
	}
}

// refusal is why Create refused a prediction; "": the request itself was wrong.
func refusal(err error) string {
	var invalid *predict.ValidationError
	var full *predict.QueueFullError
	switch {
	case errors.As(err, &invalid):
		return reasonValidation
	case errors.Is(err, predict.ErrBusy), errors.As(err, &full):
		return reasonCapacity
	case errors.Is(err, memory.ErrFull):
		return reasonMemory
	default:
		return unavailable(err)
	}
}

func unavailable(err error) string {
	var none *predict.NotReadyError
	if errors.As(err, &none) {
		return reasonUnavailable
	}
	return ""
}

// failure is why a call failed that has this result.
func failure(r *slot.Result) string {
	switch {
	case r.Err == nil && r.Kind == ipc.KindFailed:
		return reasonModel
	case r.Err == nil, errors.Is(r.Err, slot.ErrWorker): // an answer that cannot be read is no model's doing
		return reasonCrash
	case unavailable(r.Err) != "":
		return reasonUnavailable
	default: // *slot.TimeoutError, predict.ErrQueueTimeout
		return reasonTimeout
	}
}
