package server

import (
	"context"
	"time"

	"pinion/cmd/pinion/internal/config"
)

// loadEvery is how often a model that is not loaded looks whether jobs wait for it.
const loadEvery = time.Second

// beginJobs lets jobs load the model, if requests do.
func (m *servedModel) beginJobs() {
	f, l, q := m.server, m.of.Settings.Loading, m.queue
	if q == nil || l.When == config.AtStartup && l.IdleTimeout == 0 && f.s.ModelsMemory == 0 && f.read.File == nil {
		return // it is never unloaded
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.loading == nil && !q.isDrained() {
		var ctx context.Context
		ctx, q.loading = context.WithCancel(context.Background())
		go q.loadModels(ctx)
	}
}

// loadModels loads those of the models whenever jobs wait for them that no server takes. It returns when ctx ends.
func (q *modelQueue) loadModels(ctx context.Context) {
	ticker := time.NewTicker(loadEvery)
	defer ticker.Stop()
	refused := map[*servedModel]string{} // why it was not loaded when it was tried last
	for {
		select {
		case <-ticker.C:
		case <-q.wanted:
		case <-ctx.Done():
			return
		}
		for _, t := range q.toLoad(ctx) {
			why := ""
			if err := t.Lifecycle.LoadByRequest(ctx, nil); err != nil {
				why = err.Error()
			}
			if why != "" && why != refused[t.servedModel] && ctx.Err() == nil {
				t.Log.Warn("jobs wait, but the model is not loaded; will try again", "error", why)
			}
			refused[t.servedModel] = why
		}
	}
}

// toLoad returns the models that jobs wait for.
func (q *modelQueue) toLoad(ctx context.Context) (idle []*target) {
	var waits bool
	var named func(version string) bool
	for _, t := range q.routed() {
		if t.Lifecycle.IsReady() || !t.Lifecycle.AcceptsOnDemand() {
			continue
		}
		if named == nil {
			waits, named = q.member.JobsWait(ctx)
		}
		if t.share > 0 && (waits || q.owes(t)) || named(t.version) {
			idle = append(idle, t)
		}
	}
	return idle
}

// owes reports whether others had a whole job of a model's share, because it is not loaded.
func (q *modelQueue) owes(t *target) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return t.version != "" && q.owed[t.servedModel] == allJobs
}
