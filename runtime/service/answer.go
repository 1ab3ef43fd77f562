package service

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"time"

	"pinion/ipc"
	"pinion/ipc/bufpool"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/slot"
)

// finish turns a call's result into the prediction's end, or into a refusal.
func (x *execution) finish(r *slot.Result) error {
	s, p := x.service, x.p
	result, begun := x.read(r)
	if !begun {
		now := time.Now()
		x.observe(&result, r.Waited, failure(r), now)
		s.ended(p, result, now)
		return r.Err
	}
	result.Logs = r.Logs
	reason := failure(r)
	if !x.charge(r, &result) {
		result, reason = s.overBudget(&result), predict.ReasonMemory
	} else if x.checkOutput(&result); x.refused != "" {
		reason = predict.ReasonModel
	} else if result.Fault != nil {
		reason = predict.ReasonInput
	}
	if !x.finishFiles(&result) {
		reason = predict.ReasonFiles
	}
	x.releaseAnswer(r, &result)
	now := time.Now()
	x.observe(&result, r.Waited, reason, now)
	if body := p.Request.Body; len(body) >= bufpool.Min && x.isRead() && (p.Observed() || !s.retains(p, &result)) {
		p.OnRelease(func() { bufpool.Put(body) })
	}
	s.ended(p, result, now)
	return nil
}

// finishFiles uploads or hands over the files of an output. It returns false if that failed the prediction.
func (x *execution) finishFiles(result *predict.Result) bool {
	before := result.Status
	if x.uploader != nil {
		began := time.Now()
		x.uploader.settle(result)
		x.transfers += time.Since(began)
	}
	if x.outputs != nil && !x.p.Request.WantPaths {
		x.handOver(result)
	}
	return result.Status == before
}

// releaseAnswer frees the memory of a worker's answer, now or with the prediction.
func (x *execution) releaseAnswer(r *slot.Result, result *predict.Result) {
	switch {
	case r.Release == nil:
	case !x.p.Observed() && x.service.retains(x.p, result): // retained without compaction: it must not point into r.Body
		result.Output = bytes.Clone(result.Output)
		result.Metrics = bytes.Clone(result.Metrics)
		r.Release()
	default:
		x.p.OnRelease(r.Release)
	}
}

// read converts a call's result. begun means that the worker may have begun the prediction.
func (x *execution) read(r *slot.Result) (result predict.Result, begun bool) {
	if r.Err == nil {
		result = readAnswer(r, x.p.Observed())
		if x.p.Request.WantTensors {
			if result.Output, result.Tensors = WithoutTensors(result.Output, x.call.Shared); result.Tensors == nil &&
				ipc.HasTensor(result.Output) {
				return unreadable(r), true
			}
		}
		if r.Canceled { // as with Cog, even if the model returned or raised another exception
			result.Status, result.Output, result.Yielded, result.Error = predict.Canceled, nil, false, ""
		}
		if x.batched {
			result.Metrics = withQueueTime(result.Metrics, r.Waited)
		}
		return result, true
	}
	var exited *slot.WorkerExitError
	var late *slot.TimeoutError
	switch {
	case errors.Is(r.Err, slot.ErrCanceled):
		return predict.Result{Status: predict.Canceled, Elapsed: r.Elapsed}, true
	case errors.As(r.Err, &exited):
		return predict.Result{Status: predict.Failed, Error: exited.Cause, Elapsed: r.Elapsed}, true
	case errors.As(r.Err, &late):
		return predict.Result{Status: predict.Failed, Error: late.Error(), Elapsed: r.Elapsed}, true
	default: // ErrQueueTimeout, NotReadyError
		return predict.Result{Status: predict.Failed, Error: r.Err.Error()}, false
	}
}

// maxAnonymous is the largest prediction in bytes that is retained although its client gave no id and has its answer:
// it is unlikely to be requested again.
const maxAnonymous = 16 << 10

// size estimates how many bytes a retained prediction takes.
func size(p *predict.Prediction, r *predict.Result) int {
	in := max(cap(p.Request.Body), len(p.Request.Input)+len(p.Request.Context), int(p.Request.Charged))
	return 1<<10 + in + p.CallsSize() + len(r.Output) + len(r.Logs) + len(r.Metrics) + len(r.Error)
}

// retains reports whether a prediction with this result can be requested afterwards.
func (s *Service) retains(p *predict.Prediction, r *predict.Result) bool {
	return p.Observed() || p.File() == nil && r.Tensors == nil && size(p, r) <= maxAnonymous
}

// ended publishes a prediction's end. Its id is free before a client can see the end.
func (s *Service) ended(p *predict.Prediction, r predict.Result, now time.Time) {
	retained := s.retains(p, &r)
	if retained {
		s.registry.Finish(p, size(p, &r), now)
	} else {
		s.registry.Remove(p)
	}
	if p.End(r, now); !retained || r.Status == predict.Failed {
		s.note(p, r.Status, retained)
	}
}

// readAnswer reads the result in a worker's answer. A success without an output stands for the yielded items, which
// only an observed prediction has.
func readAnswer(r *slot.Result, observed bool) predict.Result {
	a, ok := ipc.ParseAnswer(r.Kind, r.Body)
	result := predict.Result{Elapsed: r.Elapsed, Metrics: a.Metrics}
	switch r.Kind {
	case ipc.KindSucceeded:
		result.Status, result.Output = predict.Succeeded, a.Output
		result.Yielded = observed && a.Output == nil
		ok = ok && (observed || a.Output != nil)
	case ipc.KindFailed:
		result.Status = predict.Failed
		if !ok || a.Error[0] == '"' {
			result.Error = rawjson.Text(a.Error)
			break
		}
		fault, err := ipc.ParseClientFault(a.Error)
		ok = err == nil
		result.Error, result.Fault = fault.Text, &predict.ClientFault{
			Status: cmp.Or(fault.Status, 422), Code: fault.Code, BadInput: fault.Status == 0,
		}
	default:
		result.Status = predict.Canceled
	}
	if !ok {
		return unreadable(r)
	}
	return result
}

// unreadable returns the result of an answer that our workers never send.
func unreadable(r *slot.Result) predict.Result {
	return predict.Result{
		Status: predict.Failed, Elapsed: r.Elapsed,
		Error: fmt.Sprintf("the worker's answer cannot be read: %.100q", r.Body),
	}
}
