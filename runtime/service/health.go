package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
)

const checkTimeout = 5 * time.Second

// Health returns the part of the health document that belongs to the model. It runs the model's health check, if any,
// while a worker is ready. Concurrent callers share a run.
func (s *Service) Health() health.Document {
	h, checks := s.health()
	if !checks {
		return h
	}
	problem := ""
	if err := s.check.do(s.checkWorkers); err != nil {
		problem = err.Error()
	}
	s.modelError.Store(&problem)
	addModelError(&h, problem)
	return h
}

// Glance is Health with the result of the last run of the model's health check.
func (s *Service) Glance() health.Document {
	h, checks := s.health()
	if last := s.modelError.Load(); checks && last != nil {
		addModelError(&h, *last)
	}
	return h
}

// addModelError adds what the model's check found, or "".
func addModelError(h *health.Document, problem string) {
	if h.ModelError = problem; problem != "" {
		h.Status = health.Unhealthy
	}
}

// health is Health without the model's check. checks says that there is one, and a worker that can run it.
func (s *Service) health() (h health.Document, checks bool) {
	v := s.view()
	load := s.o.Pool.Load()
	h = health.Document{Status: v.status(load), Version: maps.Clone(s.o.Version)}
	if s.o.Weights != nil && h.Status == health.Starting {
		h.Weights = s.o.Weights()
	}
	if size := s.o.Pool.Queue(); size > 0 {
		h.Queue = &health.Queue{Length: max(0, load.InFlight-load.Capacity), Capacity: size}
	}
	s.mu.Lock()
	workers := s.workers
	s.mu.Unlock()
	for _, w := range workers {
		h.Workers = append(h.Workers, w.Health())
	}
	if len(workers) > 0 {
		h.Setup = workers[0].Setup()
	}
	if m := s.model.Load(); m != nil {
		h.Version["cog"] = m.cog
		h.Version["python"] = m.python
		checks = m.check && v.ready > 0
	}
	return h, checks
}

// checkWorkers runs the model's health check in each worker, one by one, and returns the first error.
func (s *Service) checkWorkers() error {
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	s.mu.Lock()
	workers := s.workers
	s.mu.Unlock()
	for _, w := range workers {
		err := w.Healthcheck(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("Healthcheck failed: user-defined healthcheck timed out after %.1f seconds",
				checkTimeout.Seconds())
		case err != nil:
			return err
		}
	}
	return nil
}

// view is the statuses of the workers, with counts.
type view struct {
	workers        []supervise.Status
	ready, defunct int
	blocked        int  // that this server fails to start
	hopeless       int  // of the defunct ones, those that do not recover by themselves
	unloaded       bool // there are none on purpose
	healthPath     string
}

func (s *Service) view() view {
	s.mu.Lock()
	workers, v := s.workers, view{unloaded: s.unloaded, healthPath: s.o.HealthPath}
	s.mu.Unlock()
	for _, w := range workers {
		st := w.Status()
		v.workers = append(v.workers, st)
		if st.State == supervise.Ready {
			v.ready++
		}
		switch {
		case st.Defunct:
			v.defunct++
		case st.Blocked:
			v.blocked++
		}
		if st.Hopeless {
			v.hopeless++
		}
	}
	return v
}

// setupFailed reports whether a worker exited because its setup failed.
func (v view) setupFailed() bool {
	for _, w := range v.workers {
		if w.SetupFailed {
			return true
		}
	}
	return false
}

func (v view) status(load slot.Load) health.Status {
	switch {
	case v.ready > 0 && load.Slots > 0 && load.InFlight >= load.Capacity:
		return health.Busy
	case v.ready > 0:
		return health.Ready
	case v.unloaded:
		return health.Unloaded
	case len(v.workers) == 0 || v.defunct < len(v.workers):
		return health.Starting
	case v.setupFailed():
		return health.Failed
	default:
		return health.Defunct
	}
}

// closed reports whether no worker can become ready soon.
func (v view) closed() bool {
	return len(v.workers) > 0 && v.defunct+v.blocked == len(v.workers)
}

// reason says why no prediction is accepted.
func (v view) reason() string {
	switch {
	case v.unloaded:
		return "The model is not loaded."
	case v.blocked > 0 && v.closed():
		return "No worker can be started, the server tries again: " + v.lastExit()
	case v.defunct < len(v.workers) || len(v.workers) == 0:
		if last := v.lastExit(); last != "" {
			return "The worker is being replaced: " + last
		}
		return "Setup has not finished yet. Wait until it has finished, or GET " + v.healthPath + " for status."
	case v.setupFailed():
		return "Setup has failed: GET " + v.healthPath + " for its logs."
	case v.nextStart().IsZero():
		return "The server is defunct, no worker is left: " + v.lastExit()
	default:
		return "The server is defunct until a worker is tried again: " + v.lastExit()
	}
}

// lastExit returns how a worker ended or why it could not be started; "" means none did.
func (v view) lastExit() string {
	for _, w := range v.workers {
		if w.LastExit != "" {
			return w.LastExit
		}
	}
	return ""
}

// nextStart returns when the next worker is tried; zero means none is waited for.
func (v view) nextStart() (next time.Time) {
	for _, w := range v.workers {
		if t := w.NextStart; !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

// notReady returns the answer to a prediction that is not accepted.
func (v view) notReady() *predict.NotReadyError {
	e := &predict.NotReadyError{Reason: v.reason()}
	if next := v.nextStart(); !next.IsZero() {
		e.RetryAfter = max(time.Until(next), time.Second)
	}
	return e
}

// Status returns the status of Health, without a run of the model's health check.
func (s *Service) Status() health.Status { return s.view().status(s.o.Pool.Load()) }

func (s *Service) Draining() bool { return s.draining.Load() }
