package jobqueue

import (
	"encoding/json"
	"time"

	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
)

// Renderer writes the prediction objects of jobs, also for a command that is not a member.
type Renderer struct{ encoder predict.Encoder }

// encode writes a prediction object.
func (o *Renderer) encode(rec *predict.Record) json.RawMessage { return o.encoder.Append(nil, rec) }

// RenderStarted implements state.Renderer.
func (o *Renderer) RenderStarted(j *state.Job, s *state.State) json.RawMessage {
	rec := readObject(j.ID, s.Prediction)
	rec.Status, rec.Started, rec.Version = predict.Processing, time.Now(), s.ModelVersion
	return o.encode(&rec)
}

// RenderEnded implements state.Renderer.
func (o *Renderer) RenderEnded(j *state.Job, s *state.State, end state.Status, reason string) json.RawMessage {
	rec := readObject(j.ID, s.Prediction)
	rec.Status, rec.Error, rec.Completed = predictStatuses[end], reason, time.Now()
	rec.Version = s.ModelVersion
	if s.Server == "" { // the server of its last run was lost, and when that ended is not known
		rec.Started = time.Time{}
	}
	return o.encode(&rec)
}

// RenderRetry returns the object of a job that is a retry of one with that state; nil means it is no longer known.
func (o *Renderer) RenderRetry(id string, old *state.State) json.RawMessage {
	rec := predict.Record{ID: id, Created: time.Now()}
	if old != nil {
		rec.Input = readObject(id, old.Prediction).Input
	}
	return o.encode(&rec)
}
