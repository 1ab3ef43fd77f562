package service

import (
	"bytes"
	"context"

	"pinion/runtime/health"
	"pinion/runtime/predict"
)

// RunExample runs the model's example like a client's prediction. It returns nil if the model has none or is not
// ready. Concurrent callers share a run; the end of the first caller's ctx cancels it.
func (s *Service) RunExample(ctx context.Context) *health.ExampleRun {
	m := s.model.Load()
	if m == nil || m.example == nil || s.Ready() != nil {
		return nil
	}
	return s.examples.do(func() *health.ExampleRun { return s.runExample(ctx, m.example) })
}

func (s *Service) runExample(ctx context.Context, input []byte) *health.ExampleRun {
	p, err := s.create(&predict.Request{Input: bytes.Clone(input)})
	if err == nil {
		defer p.Release()
		stop := context.AfterFunc(ctx, p.Cancel)
		err = p.Run()
		stop()
	}
	switch {
	case predict.RefusalOf(err).Reason() == predict.ReasonCapacity:
		return &health.ExampleRun{Status: health.StatusBusy}
	case err != nil:
		return &health.ExampleRun{Status: predict.Failed.String(), Error: err.Error()}
	}
	r := p.Record()
	run := &health.ExampleRun{Status: r.Status.String(), Error: r.Error, PredictTime: r.Completed.Sub(r.Started).Seconds()}
	if r.Status == predict.Canceled {
		run.Error = "the example did not end in time"
	}
	return run
}
