package service

import (
	"bytes"
	"context"
	"errors"
	"time"

	"pinion/runtime/predict"
)

type ExampleRun struct {
	// Status is succeeded, failed, canceled, or busy: no slot was free.
	Status string
	Error  string
	// Elapsed is how long the model ran.
	Elapsed time.Duration
}

// statusBusy means that no slot was free. It says nothing about the model.
const statusBusy = "busy"

// RunExample runs the model's example like a client's prediction. It returns nil where the model has none or is not
// ready. Concurrent callers share a run; the end of the first caller's ctx cancels it.
func (s *Service) RunExample(ctx context.Context) *ExampleRun {
	m := s.model.Load()
	if m == nil || m.example == nil || s.Ready() != nil {
		return nil
	}
	return s.examples.do(func() *ExampleRun { return s.runExample(ctx, m.example) })
}

func (s *Service) runExample(ctx context.Context, input []byte) *ExampleRun {
	p, err := s.Create(&predict.Request{Input: bytes.Clone(input)})
	if err == nil {
		defer p.Release()
		stop := context.AfterFunc(ctx, p.Cancel)
		err = p.Run()
		stop()
	}
	var full *predict.QueueFullError
	switch {
	case errors.Is(err, predict.ErrBusy), errors.As(err, &full):
		return &ExampleRun{Status: statusBusy}
	case err != nil:
		return &ExampleRun{Status: predict.Failed.String(), Error: err.Error()}
	}
	r := p.Record()
	run := &ExampleRun{Status: r.Status.String(), Error: r.Error, Elapsed: r.Completed.Sub(r.Started)}
	if r.Status == predict.Canceled {
		run.Error = "the example did not end in time"
	}
	return run
}
