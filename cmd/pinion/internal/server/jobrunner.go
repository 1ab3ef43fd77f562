package server

import (
	"context"
	"errors"
	"time"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/modelhost"
	"pinion/runtime/jobqueue"
	"pinion/runtime/predict"
	"pinion/runtime/service"
)

// jobRunner is a model as its job queue sees it: it takes jobs only while it is loaded.
type jobRunner struct {
	*service.Service
	lifecycle *modelhost.Lifecycle
}

var _ jobqueue.Local = (*jobRunner)(nil)

// Check is that of the service. A request for a model that a job loads is accepted before its inputs are known: whoever
// runs the job checks it.
func (r *jobRunner) Check(req *predict.Request, most int) (input []byte, warnings []string, err error) {
	if err := r.lifecycle.Refusal(); err != nil {
		return nil, nil, err
	}
	input, warnings, err = r.Service.Check(req, most)
	if notReady := (*predict.NotReadyError)(nil); errors.As(err, &notReady) && r.lifecycle.AcceptsOnDemand() {
		return nil, nil, nil
	}
	return input, warnings, err
}

// AwaitCapacity is that of the service, once the model is loaded.
func (r *jobRunner) AwaitCapacity(ctx context.Context) int {
	for r.lifecycle.AwaitReady(ctx) {
		if slots := r.Service.AwaitCapacity(ctx); slots == 0 || r.lifecycle.IsReady() {
			return slots
		}
	}
	return 0
}

// loadEvery is how often a model that is not loaded looks whether jobs wait for it.
const loadEvery = time.Second

// beginJobs lets jobs load the model, if requests do.
func (m *servedModel) beginJobs() {
	f, l := m.server, m.of.Settings.Loading
	if m.queue == nil || l.When == config.AtStartup && l.IdleTimeout == 0 && f.s.ModelsMemory == 0 && f.read.File == nil {
		return // it is never unloaded
	}
	var ctx context.Context
	ctx, m.stopJobs = context.WithCancel(context.Background())
	go m.loadForJobs(ctx)
}

// loadForJobs loads the model whenever jobs wait that no server takes. It returns when ctx ends.
func (m *servedModel) loadForJobs(ctx context.Context) {
	look := time.NewTicker(loadEvery)
	defer look.Stop()
	refused := "" // why it was not loaded when it was tried last
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		if !m.Lifecycle.AcceptsOnDemand() || !m.queue.JobsWait(ctx) {
			continue
		}
		why := ""
		if err := m.Lifecycle.Load(ctx, false); err != nil {
			why = err.Error()
		}
		if why != "" && why != refused && ctx.Err() == nil {
			m.Log.Warn("jobs wait, but the model is not loaded; will try again", "error", why)
		}
		refused = why
	}
}
