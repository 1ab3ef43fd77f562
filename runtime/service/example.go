package service

import (
	"bytes"
	"context"
	"errors"
	"time"

	"pinion/runtime/predict"
)

// ExampleRun is how a run of the model's own example ended.
type ExampleRun struct {
	// Status is succeeded, failed, canceled, or busy: there was no place for it.
	Status string
	Error  string
	// Elapsed is the time in the model.
	Elapsed time.Duration
}

// statusBusy says that the example had no place. It tells nothing of the model.
const statusBusy = "busy"

// RunExample carries out the model's own example, as a client's prediction. It is nil where the model has none, or is not
// ready. Those who ask at the same time share a run; the end of the first one's ctx cancels it.
func (s *Service) RunExample(ctx context.Context) *ExampleRun {
	m := s.model.Load()
	if m == nil || m.example == nil || s.takes() != nil {
		return nil
	}
	return s.examples.do(func() *ExampleRun { return s.runExample(ctx, m.example) })
}

func (s *Service) runExample(ctx context.Context, input []byte) *ExampleRun {
	p, err := s.Create(predict.Request{Input: bytes.Clone(input)})
	if err == nil {
		defer p.Release()
		stop := context.AfterFunc(ctx, p.Cancel)
		err = p.Wait()
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
