package service

import (
	"time"

	"pinion/runtime/predict"
	"pinion/runtime/slot"
)

// Create accepts a prediction once the model is loaded, or refuses it. The caller must then call Run, or Start.
func (s *Service) Create(req predict.Request) (p *predict.Prediction, err error) {
	if req.Attempt == 0 { // else AcquireSlot has
		if err := s.o.Lifecycle.Enter(req.Deadline, req.Callers); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err == nil || req.Attempt == 0 { // else ReleaseSlot follows
			s.o.Lifecycle.Leave()
		}
	}()
	return s.create(&req)
}

// create is Create in a model that is loaded.
func (s *Service) create(req *predict.Request) (*predict.Prediction, error) {
	now := time.Now()
	spans := newSpans(req, s.o.Model, now)
	p, err := s.accept(req, spans, now)
	if err != nil {
		s.refused(req, err)
		spans.refused(err)
	}
	return p, err
}

func (s *Service) accept(req *predict.Request, spans *spans, now time.Time) (*predict.Prediction, error) {
	id := req.ID
	if id == "" {
		id = predict.NewID(now)
		spans.named(id)
	}
	if err := s.accepts(req.Callers != nil); err != nil {
		return nil, err
	}
	if req.Input == nil {
		req.Input = []byte("{}")
	}
	x := &execution{service: s, spans: spans, arrived: now, spills: s.newSpills(req)}
	created := false
	defer func() {
		if !created {
			x.spills.unmap(true)
		}
	}()
	err := x.prepare(id, req)
	spans.validated()
	if err != nil {
		return nil, err
	}
	if len(x.prepared.Warnings) > 0 {
		req.Members = appendWarnings(req.Members, x.prepared.Warnings)
	}
	req.EmitsItems = s.uploads(req) || req.Inlet != nil
	p := predict.New(id, req, now, x, s.o.Prediction)
	x.p = p
	p.Warnings = x.prepared.Warnings
	if req.RequestID != "" && !s.requestIDs.Load() {
		s.requestIDs.Store(true)
	}
	if err := s.registry.Add(p); err != nil {
		return nil, err
	}
	if err := s.admit(req); err != nil {
		s.registry.Remove(p)
		return nil, err
	}
	if err := x.reserve(); err != nil {
		if req.Attempt == 0 {
			s.o.Pool.Withdraw(req.Group)
		}
		s.registry.Remove(p)
		return nil, err
	}
	x.releaseWith(req)
	if req.Webhook != "" && s.o.Webhooks != nil {
		s.o.Webhooks.Attach(p)
	}
	created = true
	return p, nil
}

// releaseWith frees what the request brought when its prediction is released.
func (x *execution) releaseWith(req *predict.Request) {
	if req.Attachments != nil {
		x.p.OnRelease(req.Attachments.Close)
	}
	// The functions keep what they need of the request, not the request: it would be allocated, half a kilobyte each.
	if disk := req.Disk; disk != nil {
		x.p.OnRelease(func() {
			disk.Unmap(x.isRead())
			x.spills.unmap(x.isRead())
		})
	}
	if shared := req.Shared; shared != nil {
		x.p.OnRelease(func() { x.freeShared(shared) })
	}
}

func (s *Service) admit(req *predict.Request) error {
	if req.Attempt > 0 { // AcquireSlot has
		return nil
	}
	return s.o.Pool.Admit(req.Group)
}

// SubmitAll enters predictions in the queue together, except for those whose files must be fetched first, and those of
// another service. Their callers call Run next.
func (s *Service) SubmitAll(ps []*predict.Prediction) {
	calls := make([]*slot.Call, 0, len(ps))
	for _, p := range ps {
		if x, ok := p.Runner().(*execution); ok && x.service == s && !x.transfersFirst() {
			calls = append(calls, x.newCall(x.prepared.Input))
		}
	}
	s.o.Pool.SubmitAll(calls)
}

// Ready says why no prediction is accepted now; nil means predictions are accepted.
func (s *Service) Ready() error { return s.accepts(false) }

// accepts is Ready. A call of a prediction that is in flight is accepted while the server drains.
func (s *Service) accepts(call bool) error {
	switch {
	case s.o.Pool == nil:
		return &predict.NotReadyError{Reason: "This server does not run predictions"}
	case s.draining.Load() && !call:
		return errStopping()
	}
	if s.o.Pool.Load().Slots > 0 {
		return nil
	}
	v := s.view()
	if s.o.Queue && s.wasReady() && len(v.workers) > 0 && !v.closed() {
		return nil // a worker restarts, and the queue is open
	}
	return v.notReady()
}

// wasReady reports whether a worker was ever ready. Its supervisor may not have called Changed yet.
func (s *Service) wasReady() bool {
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	return ready || s.view().ready > 0
}
