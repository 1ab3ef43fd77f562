package server

import (
	"bytes"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
)

const (
	// maxShadows is how many copies of requests a mirror may have in flight. More are left out.
	maxShadows = 64
	// maxShadow is how long the input of a copied request may be, in bytes.
	maxShadow = 16 << 20
)

// mirrored counts the requests of which a version got copies, and compares what came of them.
type mirrored struct {
	same, different, leftOut atomic.Uint64
	served, shadow           atomic.Int64 // how long the predictions took, in nanoseconds
	inFlight                 atomic.Int64
}

// stats returns the counts for /metrics, or nil if the version was not a mirror.
func (m *mirrored) stats() *metrics.Mirror {
	if m == nil {
		return nil
	}
	return &metrics.Mirror{
		Same: m.same.Load(), Different: m.different.Load(), LeftOut: m.leftOut.Load(),
		Served: time.Duration(m.served.Load()), Mirrored: time.Duration(m.shadow.Load()),
	}
}

// shadow is a copy of a request. Its answer is dropped. nil means the request is left out.
type shadow struct {
	to  *target
	req predict.Request
}

// newShadow copies a request before its prediction takes it over.
func newShadow(to *target, req *predict.Request) *shadow {
	size := len(req.Input)
	for _, t := range req.Tensors {
		size += len(t.Data)
	}
	counts := to.mirrored
	if req.Kind != predict.KindPrediction || size > maxShadow || req.Disk != nil && req.Form != nil ||
		!to.isReady() || counts.inFlight.Load() >= maxShadows {
		counts.leftOut.Add(1)
		return nil
	}
	s := &shadow{to: to, req: predict.Request{
		Kind: req.Kind, Input: bytes.Clone(req.Input), Context: bytes.Clone(req.Context), Form: req.Form,
		Tensors: slices.Clone(req.Tensors), Deadline: req.Deadline, Callers: req.Callers,
		WantPaths: true, WantTensors: true, // nothing is uploaded
	}}
	for i := range s.req.Tensors {
		s.req.Tensors[i].Data = bytes.Clone(s.req.Tensors[i].Data)
	}
	if req.Attachments != nil {
		s.req.Attachments = lent{req.Attachments}
	}
	return s
}

// lent are the files of the request that was copied.
type lent struct{ predict.Attachments }

// Close does nothing: the files are those of the other prediction, which is held.
func (lent) Close() {}

// follow runs the copy beside the prediction of the request.
func (s *shadow) follow(p *predict.Prediction) {
	if s == nil {
		return
	}
	p.Hold() // its files, and the text of a form
	s.to.mirrored.inFlight.Add(1)
	go func() {
		defer p.Release()
		defer s.to.mirrored.inFlight.Add(-1)
		s.run(p)
	}()
}

func (s *shadow) run(p *predict.Prediction) {
	counts, budget := s.to.mirrored, s.to.server.budget
	if size := int64(len(s.req.Input)); size >= memory.MinCharge {
		if !budget.Take(size, size) {
			counts.leftOut.Add(1)
			return
		}
		s.req.Charged = size
	}
	copied, err := s.to.backend().Create(s.req)
	if err != nil {
		budget.Free(s.req.Charged)
		s.compareRefusal(p, err)
		return
	}
	defer copied.Release()
	ended := make(chan struct{})
	defer close(ended)
	go func() { // the client's cancel is not the mirror's doing
		select {
		case <-p.Done():
			if p.CancelAsked() {
				copied.Cancel()
			}
		case <-ended:
		}
	}()
	if err := copied.Run(); err != nil {
		counts.leftOut.Add(1)
		return
	}
	<-p.Done()
	s.compare(p.Record(), copied.Record())
}

// compareRefusal counts an input that the mirror refuses and the other version does not.
func (s *shadow) compareRefusal(p *predict.Prediction, err error) {
	<-p.Done()
	if _, ok := errors.AsType[*predict.ValidationError](err); ok {
		s.to.mirrored.different.Add(1)
		s.to.Log.Warn("the mirror refused a request that was served", "error", err)
		return
	}
	s.to.mirrored.leftOut.Add(1)
}

func (s *shadow) compare(served, copied predict.Record) {
	counts := s.to.mirrored
	if served.Status == predict.Canceled {
		counts.leftOut.Add(1)
		return
	}
	counts.served.Add(int64(served.Completed.Sub(served.Started)))
	counts.shadow.Add(int64(copied.Completed.Sub(copied.Started)))
	if served.Status == copied.Status {
		counts.same.Add(1)
		return
	}
	counts.different.Add(1)
	s.to.Log.Warn("the mirror's prediction ended differently", "served", served.Status.String(), "mirror",
		copied.Status.String(),
		"error", copied.Error)
}
