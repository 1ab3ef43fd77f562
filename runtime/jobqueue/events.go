package jobqueue

import (
	"encoding/json"
	"unicode/utf8"

	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// eventBatch is how many events are taken at once.
const eventBatch = 64

// Follow implements consume.Runner: it passes on the events of a job that runs here. If the run has ended, it passes on
// the end alone, and the receiver reads the state.
func (m *Member) Follow(id string, had uint64, send func(live.Event) bool) {
	p := m.o.Local.Find(predict.KindPrediction, id)
	if p == nil {
		p = m.o.Local.Find(predict.KindTraining, id)
	}
	if p == nil {
		send(live.Event{Event: live.EventEnd})
		return
	}
	forward(p, had, send)
}

// forward passes on the events of a prediction after the first had ones.
func forward(p *predict.Prediction, had uint64, send func(live.Event) bool) {
	if !p.TryHold() {
		return
	}
	defer p.Release()
	sub, err := p.SubscribeAfter(had)
	if err != nil {
		return // too many follow it: the state tells its end
	}
	defer sub.Close()
	events, number := make([]predict.Event, 0, eventBatch), sub.Position()
	for {
		events, err = sub.Next(events[:0], nil)
		for i := range events {
			number++
			e, ok := toStoreEvent(&events[i])
			if e.Number = number; ok && !send(e) {
				return
			}
		}
		if err != nil { // it has ended, or this follower was too slow: it asks again
			return
		}
	}
}

// toStoreEvent converts an event to the form that members send; false means they do not send it.
func toStoreEvent(e *predict.Event) (live.Event, bool) {
	switch e.Kind {
	case predict.EventStart:
		return live.Event{Event: live.EventStart}, true
	case predict.EventOutput:
		return live.Event{Event: live.EventOutput, Index: e.Index, Data: e.Data}, true
	case predict.EventLog:
		text := append([]byte(`{"source":`), rawjson.AppendQuoted(nil, e.Source)...)
		text = append(rawjson.AppendQuotedBytes(append(text, `,"data":`...), e.Data), '}')
		return live.Event{Event: live.EventLog, Data: text}, true
	case predict.EventMetric:
		return live.Event{Event: live.EventMetric, Data: e.Data}, true
	case predict.EventEnd:
		return live.Event{Event: live.EventEnd}, true
	}
	return live.Event{}, false
}

// readLogEvent reads the data of a log event.
func readLogEvent(data json.RawMessage) (source string, text []byte) {
	var l struct{ Source, Data string }
	if json.Unmarshal(data, &l) != nil || !utf8.ValidString(l.Data) {
		return "", nil
	}
	return l.Source, []byte(l.Data)
}
