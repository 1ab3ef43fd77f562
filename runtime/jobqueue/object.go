package jobqueue

import (
	"encoding/json"
	"time"

	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// readObject reads what a run needs of a prediction object. Each run makes the rest.
func readObject(id string, raw json.RawMessage) predict.Record {
	rec := predict.Record{ID: id}
	for key, value := range rawjson.Members(raw) { // what a member wrote; an object without times is still one
		switch rawjson.KeyText(key) {
		case "input":
			rec.Input = value
		case "created_at":
			rec.CreatedText = rawjson.Text(value)
			rec.Created, _ = time.Parse(time.RFC3339Nano, rec.CreatedText)
		case "started_at":
			rec.Started, _ = time.Parse(time.RFC3339Nano, rawjson.Text(value))
		}
	}
	return rec
}

// encodeEnded writes the object of a prediction that has ended, with its calls if they fit.
func (m *Member) encodeEnded(p *predict.Prediction, rec *predict.Record) json.RawMessage {
	own := rec.Members
	rec.Members = p.Calls(time.Now()).AtEnd().AppendTo(own)
	object := m.encode(rec)
	if len(object) > state.MaxObject && len(rec.Members) > len(own) {
		rec.Members = own
		object = m.encode(rec)
	}
	return object
}

// released returns the object of a job that waits again.
func (m *Member) released(c *consume.Claim) json.RawMessage {
	rec := readObject(c.Job.ID, c.State.Prediction)
	rec.Status, rec.Started, rec.Version = predict.Starting, time.Time{}, c.Job.Version
	return m.encode(&rec)
}

// predictStatuses maps the words of the queue for the states of a prediction.
var predictStatuses = map[state.Status]predict.Status{
	state.Starting: predict.Starting, state.Processing: predict.Processing,
	state.Succeeded: predict.Succeeded, state.Failed: predict.Failed, state.Canceled: predict.Canceled,
}

// storeStatuses is the reverse for final states.
var storeStatuses = map[predict.Status]state.Status{
	predict.Succeeded: state.Succeeded, predict.Failed: state.Failed, predict.Canceled: state.Canceled,
}

// storeKinds maps predictions and trainings to the words of the queue.
var storeKinds = map[predict.Kind]state.Kind{
	predict.KindPrediction: state.Prediction,
	predict.KindTraining:   state.Training,
}

// predictKind is the reverse of storeKinds; a state names only trainings.
func predictKind(k state.Kind) predict.Kind {
	if k == state.Training {
		return predict.KindTraining
	}
	return predict.KindPrediction
}

// webhookBody returns a prediction object as webhooks have it: without its input and its calls.
func webhookBody(object []byte) []byte {
	out := make([]byte, 0, len(object))
	out = append(out, '{')
	for key, value := range rawjson.Members(object) {
		switch rawjson.KeyText(key) {
		case "input", "calls", "calls_omitted":
			continue
		}
		out = rawjson.Comma(out, len(out) > 1)
		out = append(append(rawjson.AppendQuoted(out, rawjson.KeyText(key)), ':'), value...)
	}
	return append(out, '}')
}
