package service

import (
	"bytes"
	"context"
	"time"

	"pinion/ipc"
	"pinion/runtime/predict"
)

// Methods for the job queue: jobs are checked when they are accepted, and run later, here or on another server.

// Check validates a request without running it, and returns its input as clients see it, secrets redacted, or nil if it
// has more than most bytes. req.Input is then nil too if it was rewritten. A server that drains or whose model is not
// known yet refuses it.
func (s *Service) Check(req *predict.Request, most int) (input []byte, warnings []string, err error) {
	m := s.model.Load()
	switch {
	case s.draining.Load():
		return nil, nil, errStopping()
	case m == nil:
		return nil, nil, &predict.NotReadyError{Reason: s.view().reason()}
	}
	if req.Input == nil {
		req.Input = []byte("{}")
	}
	x := &execution{service: s, spills: s.newSpills(req)}
	if err := x.prepare(req.ID, req); err != nil {
		x.spills.unmap(true)
		s.refused(req, err)
		return nil, nil, err
	}
	input = s.VisibleInput(req.Kind, req.Function, req.Input)
	if len(input) > most {
		input = nil // a copy would not be charged to the memory budget
	}
	if x.spills != nil {
		input = bytes.Clone(input)
		req.Input = input
		x.spills.unmap(true)
	}
	return input, x.prepared.Warnings, nil
}

// Reported returns what the workers reported last about the model; false means nothing yet. Loaded makes a service of
// it that can Check.
func (s *Service) Reported() (ipc.Loaded, bool) {
	m := s.model.Load()
	if m == nil || !s.wasReady() {
		return ipc.Loaded{}, false
	}
	predicts := !m.trainOnly && !m.absent
	return ipc.Loaded{Schema: m.openapi, Streaming: m.streaming, Train: m.training, Predict: predicts}, true
}

// AwaitCapacity waits until predictions could run at once, and returns how many, or 0 if ctx has ended.
func (s *Service) AwaitCapacity(ctx context.Context) int { return s.o.Pool.AwaitCapacity(ctx) }

// MeanDuration returns how long predictions ran lately, or 0 if that is not known or the model takes batches.
func (s *Service) MeanDuration() time.Duration { return s.o.Pool.MeanDuration() }

// AcquireSlot claims capacity for a request with an Attempt; false means none is free, or the model is not loaded.
// Create takes it over if it succeeds. Until then the model is not unloaded.
func (s *Service) AcquireSlot() bool {
	if !s.o.Lifecycle.TryEnter() {
		return false
	}
	if !s.o.Pool.AdmitFree() {
		s.o.Lifecycle.Leave()
		return false
	}
	return true
}

// ReleaseSlot gives back what AcquireSlot reserved.
func (s *Service) ReleaseSlot() {
	s.o.Pool.Withdraw(nil)
	s.o.Lifecycle.Leave()
}
