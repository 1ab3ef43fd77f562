package place

import (
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Find returns the prediction of that id, wherever it is: Known, with its record in rec, Queued or Unknown. calls is that of
// Queue.Find.
func (p *Placer) Find(kind predict.Kind, id string, calls bool, rec *predict.Record) (Placed, error) {
	found, ok := (*predict.Prediction)(nil), false
	if found, *rec, ok = p.local(kind, id); ok {
		return Placed{State: Known, Prediction: found, Record: rec}, nil
	}
	if p.Queue == nil {
		return Placed{}, nil
	}
	return p.stored(kind, id, calls)
}

// Follow returns the prediction of that id for a client that reads its Events: Followed, Made or Unknown.
func (p *Placer) Follow(kind predict.Kind, id string) (Placed, error) {
	if found, _, ok := p.local(kind, id); ok {
		return followed(found)
	}
	if p.Queue == nil {
		return Placed{}, nil
	}
	found, err := p.Queue().Attach(kind, id, true)
	if found == nil && err == nil {
		found = p.Queue().AttachDirect(kind, id)
	}
	if found == nil {
		return Placed{}, err
	}
	placed, err := followed(found)
	if err == nil {
		placed.State = Made
	}
	return placed, err
}

// Cancel cancels the prediction of that id, wherever it is; false means none is known, or it has ended otherwise.
func (p *Placer) Cancel(kind predict.Kind, id string) (bool, error) {
	holder := p.Route.Holder(kind, id)
	if p.Queue != nil {
		if found := holder.Find(kind, id); found == nil || found.Request.Attempt > 0 {
			return p.Queue().Cancel(kind, id)
		}
	}
	return holder.Cancel(kind, id), nil
}

// local returns the prediction that this server can answer for: the queue knows better how its own ones ended.
func (p *Placer) local(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool) {
	found, rec, ok := p.Route.Holder(kind, id).Result(kind, id)
	if ok && p.Queue != nil && found.Request.Attempt > 0 && rec.Status.Terminal() {
		found.Release()
		return nil, predict.Record{}, false
	}
	return found, rec, ok
}

// stored returns the prediction of that id that the queue knows.
func (p *Placer) stored(kind predict.Kind, id string, calls bool) (Placed, error) {
	found, err := p.Queue().Find(kind, id, calls)
	if err != nil || found.Object == nil {
		return Placed{}, err
	}
	return Placed{State: Queued, Ended: p.Replays && hasEnded(found.Object), Accepted: found}, nil
}

// hasEnded reports whether a prediction object is of one that has ended.
func hasEnded(object []byte) bool {
	for key, value := range rawjson.Members(object) {
		if rawjson.KeyIs(key, "status") {
			text := rawjson.Text(value)
			return text != predict.Starting.String() && text != predict.Processing.String()
		}
	}
	return false
}

// followed takes over a hold on a prediction.
func followed(p *predict.Prediction) (Placed, error) {
	events, err := p.Subscribe()
	if err != nil {
		p.Release()
		return Placed{}, err
	}
	return Placed{State: Followed, Prediction: p, Events: events}, nil
}
