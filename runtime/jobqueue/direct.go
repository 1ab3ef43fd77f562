package jobqueue

import (
	"context"
	"encoding/json"
	"time"

	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
)

const (
	// lookupTimeout is how long other servers may take to say that they have a direct prediction.
	lookupTimeout = time.Second
	// attachTimeout is the same for a PUT of a stream: a new prediction begins that much later. A server that does not
	// answer in time has another prediction of that id.
	attachTimeout = 100 * time.Millisecond
)

// ShowDirect implements live.Direct, as do the next two methods.
func (m *Member) ShowDirect(l live.Lookup) json.RawMessage {
	p, rec, ok := m.o.Local.Result(predictKind(l.Kind), l.ID)
	if !ok {
		return nil
	}
	defer p.Release()
	if rec.Status.Terminal() || (p.Request.Attempt != 0) != l.Calls {
		return nil
	}
	if l.Calls {
		object, _ := json.Marshal(p.Calls(time.Now())) // it cannot fail
		return object
	}
	if l.Brief {
		rec.Input, rec.Output, rec.Logs = nil, nil, nil
	} else {
		rec.Members = p.Calls(time.Now()).AppendTo(rec.Members)
	}
	return m.encode(&rec)
}

// CancelDirect cancels a prediction that a client of this server waits for.
func (m *Member) CancelDirect(l live.Lookup) bool {
	p := m.direct(l)
	if p != nil {
		p.Cancel()
	}
	return p != nil
}

// FollowDirect passes on its events. If the prediction has ended since it was looked up, only the end is passed on.
func (m *Member) FollowDirect(l live.Lookup, had uint64, send func(live.Event) bool) {
	p := m.direct(l)
	if p == nil {
		m.sendDirectEnd(l, send)
		return
	}
	forward(p, had, func(e live.Event) bool {
		if e.Event == live.EventEnd {
			rec := p.Record()
			e.Data = m.encode(&rec)
		}
		return send(e)
	})
}

// sendDirectEnd sends the end of a direct prediction that is retained.
func (m *Member) sendDirectEnd(l live.Lookup, send func(live.Event) bool) {
	p, rec, ok := m.o.Local.Result(predictKind(l.Kind), l.ID)
	if !ok {
		return
	}
	defer p.Release()
	if p.Request.Attempt != 0 || !rec.Status.Terminal() {
		return
	}
	// Another server may run another prediction of that id: its end must not come from here.
	if object := m.encode(&rec); l.Created != "" && readObject(l.ID, object).CreatedText == l.Created {
		send(live.Event{Event: live.EventEnd, Data: object})
	}
}

// direct returns the direct prediction of a lookup, or nil if it does not run here.
func (m *Member) direct(l live.Lookup) *predict.Prediction {
	p := m.o.Local.Find(predictKind(l.Kind), l.ID)
	if p == nil || p.Request.Attempt != 0 {
		return nil
	}
	return p
}

// AttachDirect returns a prediction that represents one that runs at another server and is not a job, for a client that
// only reads, or nil if none runs.
func (m *Member) AttachDirect(kind predict.Kind, id string) *predict.Prediction {
	q, err := m.reached()
	if err != nil {
		return nil
	}
	lookup := live.Lookup{Kind: storeKinds[kind], ID: id, Brief: true}
	brief, err := q.Live.LookupDirect(context.Background(), lookup, attachTimeout)
	if err != nil || brief.Object == nil {
		return nil
	}
	defer brief.Release()
	rec := readObject(id, brief.Object)
	lookup.Created = rec.CreatedText
	f := &follower{m: m, q: q, id: id, readOnly: true, lookup: &lookup}
	return f.prediction(predict.Request{ID: id, Kind: kind, Mode: predict.Async, Created: rec.Created})
}

// errServerLost is the error of a prediction whose server was lost while a client followed it elsewhere.
const errServerLost = "the server of the prediction no longer answers"

// runDirect follows a direct prediction until it has ended.
func (f *follower) runDirect() error {
	var err error
	if f.stream, err = f.q.Live.FollowDirect(*f.lookup); err != nil {
		return f.m.refusal(f.id, err)
	}
	defer f.close()
	f.request()
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case msg := <-f.stream.C:
			if f.handleEvent(msg) {
				if f.outOfMemory {
					return f.endOutOfMemory()
				}
				var o struct{ Status state.Status }
				_ = json.Unmarshal(f.final, &o) // a result that cannot be read counts as a failure
				if !o.Status.Ended() {
					o.Status = state.Failed
				}
				return f.end(&state.State{Status: o.Status, Prediction: f.final})
			}
		case <-ticker.C:
			if time.Since(f.lastEvent) < eventsTimeout {
				continue
			}
			brief, err := f.q.Live.LookupDirect(context.Background(), *f.lookup, lookupTimeout)
			brief.Release()
			if err != nil || brief.Object == nil {
				f.p.End(predict.Result{Status: predict.Failed, Error: errServerLost}, time.Now())
				return nil
			}
			f.request()
		}
	}
}
