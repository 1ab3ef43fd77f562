package jobqueue

import (
	"encoding/json"
	"time"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/predict"
)

// Renderer writes the prediction objects of jobs for a command that is not a member.
type Renderer struct{ m Member }

// RenderStarted implements store.Renderer.
func (o *Renderer) RenderStarted(j *store.Job, s *store.State) json.RawMessage {
	return o.m.RenderStarted(j, s)
}

// RenderEnded implements store.Renderer.
func (o *Renderer) RenderEnded(j *store.Job, s *store.State, end store.Status, reason string) json.RawMessage {
	return o.m.RenderEnded(j, s, end, reason)
}

// RenderRetry is the object of a job that is a retry of one with that state; nil means it is no longer known.
func (o *Renderer) RenderRetry(id string, old *store.State) json.RawMessage {
	rec := predict.Record{ID: id, Created: time.Now()}
	if old != nil {
		rec.Input = readObject(id, old.Prediction).Input
	}
	return o.m.encode(&rec)
}
