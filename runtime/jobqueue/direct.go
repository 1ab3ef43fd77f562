package jobqueue

import (
	"context"
	"encoding/json"
	"time"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/predict"
)

const (
	// askWait is how long other servers may take to say that they have a direct prediction.
	askWait = time.Second
	// attachWait is the same for a PUT of a stream: a new prediction begins that much later. A server that does not answer
	// in time has another prediction of that id.
	attachWait = 100 * time.Millisecond
)

// ShowDirect implements store.Direct, as do the next two methods.
func (m *Member) ShowDirect(q store.Question) json.RawMessage {
	p, rec, ok := m.o.Local.Result(kindOf(q.Kind), q.ID)
	if !ok {
		return nil
	}
	defer p.Release()
	if p.Request.Attempt != 0 || rec.Status.Terminal() {
		return nil
	}
	if q.Brief {
		rec.Input, rec.Output, rec.Logs = nil, nil, nil
	}
	return m.encode(&rec)
}

// CancelDirect cancels a prediction that a client of this server waits for.
func (m *Member) CancelDirect(q store.Question) bool {
	p := m.direct(q)
	if p != nil {
		p.Cancel()
	}
	return p != nil
}

// FollowDirect passes on its events.
func (m *Member) FollowDirect(q store.Question, send func(store.Event) bool) {
	p := m.direct(q)
	if p == nil {
		return
	}
	pass(p, func(e store.Event) bool {
		if e.Event == store.EventEnd {
			rec := p.Record()
			e.Data = m.encode(&rec)
		}
		return send(e)
	})
}

// direct is the direct prediction of a question; nil: it does not run here.
func (m *Member) direct(q store.Question) *predict.Prediction {
	p := m.o.Local.Find(kindOf(q.Kind), q.ID)
	if p == nil || p.Request.Attempt != 0 {
		return nil
	}
	return p
}

// AttachDirect returns a prediction that stands for one that runs at another server and is no job, for a client that
// only looks on; nil: none runs.
func (m *Member) AttachDirect(kind predict.Kind, id string) *predict.Prediction {
	q, err := m.open()
	if err != nil {
		return nil
	}
	question := store.Question{Kind: kinds[kind], ID: id, Brief: true}
	brief, err := q.Ask(context.Background(), question, attachWait)
	if err != nil || brief.Object == nil {
		return nil
	}
	defer brief.Release()
	f := &follower{m: m, q: q, id: id, only: true, direct: &question}
	return f.prediction(predict.Request{
		ID: id, Kind: kind, Mode: predict.Async,
		Created: object(id, brief.Object).Created,
	})
}

// errGone is the error of a prediction whose server was lost while a client followed it elsewhere.
const errGone = "the server of the prediction does not answer any more"

// runDirect follows a direct prediction until it has ended.
func (f *follower) runDirect() error {
	var err error
	if f.stream, err = f.q.FollowDirect(*f.direct); err != nil {
		return f.m.refusal(f.id, err)
	}
	defer f.close()
	f.stream.Ask()
	f.heard = time.Now()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case msg := <-f.stream.C:
			if f.take(msg) {
				if f.full {
					return f.endFull()
				}
				var o struct{ Status store.Status }
				_ = json.Unmarshal(f.last, &o) // else it has failed, for its result cannot be read
				if !o.Status.Ended() {
					o.Status = store.Failed
				}
				return f.end(&store.State{Status: o.Status, Prediction: f.last})
			}
		case <-look.C:
			if time.Since(f.heard) < askEvery {
				continue
			}
			brief, err := f.q.Ask(context.Background(), *f.direct, askWait)
			brief.Release()
			if err != nil || brief.Object == nil {
				f.p.End(predict.Result{Status: predict.Failed, Error: errGone}, time.Now())
				return nil
			}
			f.heard = time.Now()
			f.stream.Ask()
		}
	}
}
