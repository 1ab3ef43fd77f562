package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pinion/ipc"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/schema"
	"pinion/runtime/slot"
)

// job carries one prediction out. It implements predict.Runner.
type job struct {
	service  *Service
	prepared schema.Prepared

	mu     sync.Mutex
	call   *slot.Call         // nil until its files are there
	abort  context.CancelFunc // of the downloads in progress
	cancel bool
}

// Run carries p out and returns when it has ended. By then its place is free, and its id too.
func (j *job) Run(p *predict.Prediction) error {
	s := j.service
	input, err := j.fetch(p)
	if err != nil {
		s.o.Pool.Leave()
		result := predict.Result{Status: predict.Failed, Error: err.Error()}
		if errors.Is(err, context.Canceled) {
			result = predict.Result{Status: predict.Canceled}
		}
		s.registry.Remove(p)
		p.End(result, time.Now())
		return nil
	}
	call := slot.NewCall(p.ID(), input, p.Request.Context)
	j.mu.Lock()
	j.call = call
	canceled := j.cancel
	j.mu.Unlock()
	if canceled {
		s.o.Pool.Cancel(call)
	}
	s.o.Pool.Submit(call)
	call.Wait()
	s.registry.Remove(p)
	return j.finish(p, &call.Result)
}

// fetch brings a prediction's files to its folder and returns its input with their paths.
func (j *job) fetch(p *predict.Prediction) ([]byte, error) {
	if len(j.prepared.Files) == 0 {
		return j.prepared.Input, nil
	}
	ctx, abort := context.WithCancel(context.Background())
	defer abort()
	j.mu.Lock()
	j.abort = abort
	if j.cancel {
		abort()
	}
	j.mu.Unlock()
	input, cleanup, err := j.service.o.Files.Fetch(ctx, p.ID(), j.prepared)
	if err != nil {
		return nil, err
	}
	p.OnRelease(cleanup)
	return input, nil
}

// Cancel asks for the prediction's end.
func (j *job) Cancel(*predict.Prediction) {
	j.mu.Lock()
	j.cancel = true
	call, abort := j.call, j.abort
	j.mu.Unlock()
	switch {
	case call != nil:
		j.service.o.Pool.Cancel(call)
	case abort != nil:
		abort()
	}
}

// finish turns a call's result into the prediction's end, or into a refusal.
func (j *job) finish(p *predict.Prediction, r *slot.Result) error {
	now := time.Now()
	var lost *slot.LostError
	var result predict.Result
	switch {
	case r.Err == nil:
		result = read(r)
	case errors.Is(r.Err, slot.ErrCanceled):
		result = predict.Result{Status: predict.Canceled, Elapsed: r.Elapsed}
	case errors.As(r.Err, &lost):
		result = predict.Result{Status: predict.Failed, Error: lost.Cause, Elapsed: r.Elapsed}
	default: // never begun: ErrQueueTimeout, NotReadyError
		p.End(predict.Result{Status: predict.Failed, Error: r.Err.Error()}, now)
		return r.Err
	}
	result.Logs = r.Logs
	if r.Release != nil {
		p.OnRelease(r.Release)
	}
	p.End(result, now)
	return nil
}

// The parts of a worker's answer that are the same in all.
var (
	openMetrics = []byte(`{"metrics":`)
	thenOutput  = []byte(`,"output":`)
	thenError   = []byte(`,"error":`)
	closeBrace  = []byte(`}`)
)

// read takes a worker's answer apart: {"metrics":{…}}, then "output" or "error". The worker writes it
// without a space, and an output of any size is not looked at.
func read(r *slot.Result) predict.Result {
	result := predict.Result{Elapsed: r.Elapsed}
	members := rawjson.Object(r.Body)
	_, metrics, ok := members.Next()
	rest, opened := bytes.CutPrefix(r.Body, openMetrics)
	rest, closed := bytes.CutSuffix(rest, closeBrace)
	if !ok || !opened || !closed || members.Offset() != len(openMetrics) || len(metrics) > len(rest) {
		return unreadable(r)
	}
	result.Metrics = metrics
	rest = rest[len(metrics):]
	switch r.Kind {
	case ipc.KindSucceeded:
		result.Status = predict.Succeeded
		result.Output, ok = bytes.CutPrefix(rest, thenOutput)
	case ipc.KindFailed:
		result.Status = predict.Failed
		rest, ok = bytes.CutPrefix(rest, thenError)
		ok = ok && rawjson.KindOf(rest) == rawjson.KindString
		result.Error = rawjson.Text(rest)
	default:
		result.Status = predict.Canceled
		ok = len(rest) == 0
	}
	if !ok || r.Kind == ipc.KindSucceeded && len(result.Output) == 0 {
		return unreadable(r)
	}
	return result
}

// unreadable is the result of an answer that no worker of ours sends.
func unreadable(r *slot.Result) predict.Result {
	return predict.Result{
		Status: predict.Failed, Elapsed: r.Elapsed,
		Error: fmt.Sprintf("the worker's answer cannot be read: %.100q", r.Body),
	}
}
