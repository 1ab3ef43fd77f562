package jobqueue

import (
	"encoding/json"
	"time"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/predict"
)

// Objects writes the prediction objects of jobs for a command that is no member.
type Objects struct{ m Member }

// Begun implements store.Shower.
func (o *Objects) Begun(j *store.Job, s *store.State) json.RawMessage { return o.m.Begun(j, s) }

// Ended implements store.Shower.
func (o *Objects) Ended(j *store.Job, s *store.State, end store.Status, reason string) json.RawMessage {
	return o.m.Ended(j, s, end, reason)
}

// Again is the object of a job that is a retry of one with that state; nil: it is not known any more.
func (o *Objects) Again(id string, old *store.State) json.RawMessage {
	rec := predict.Record{ID: id, Created: time.Now()}
	if old != nil {
		rec.Input = object(id, old.Prediction).Input
	}
	return o.m.encode(&rec)
}
