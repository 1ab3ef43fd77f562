package place

import (
	"errors"
	"time"

	"pinion/httpd/negotiate"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// Placer places the requests for one model. Safe for concurrent use.
type Placer struct {
	Route Route
	// Queue returns the queue of asynchronous predictions, and of others as Queueing says; nil means there is none.
	Queue    func() Queue
	Queueing QueueOptions
	// Replays means that a PUT of the id and input of a prediction that has ended is answered with its kept result.
	Replays bool
	Memory  *memory.Budget
	// Busy logs requests that are refused as no slot is free. The default is not to.
	Busy *BusyLog
}

// State is what a caller has to do with a prediction.
type State uint8

const (
	Unknown  State = iota // no prediction has that id
	Made                  // run or start Prediction, and then release it
	Followed              // another request runs Prediction: read Events, and release both
	Known                 // answer with Record, and then release Prediction
	Queued                // the queue has it, as Accepted says
)

// Placed is where a prediction is.
type Placed struct {
	State      State
	How        negotiate.Mode // as which it is answered
	Prediction *predict.Prediction
	Events     *predict.Subscription
	Record     *predict.Record
	Accepted   request.Accepted
	Joined     bool // a Known one is of another request
	Ended      bool // a Queued one is known to have ended
}

// maxJoins bounds how often a PUT retries because the prediction in flight ended before it could join.
const maxJoins = 100

// Place finds or makes the prediction of a request. A PUT (Request.Idempotent) whose id is in flight joins that prediction.
func (p *Placer) Place(r *Request) (Placed, error) {
	placed, err := p.place(r)
	if err != nil && p.Busy != nil {
		p.Busy.refused(predict.RefusalOf(err))
	}
	return placed, err
}

func (p *Placer) place(r *Request) (Placed, error) {
	if p.Replays && r.ID != "" {
		r.Digest = inputDigest(&r.Request)
	}
	for range maxJoins {
		placed, err := p.try(r)
		switch {
		case r.How.OrObject && predict.RefusalOf(err).Kind == predict.RefusedStream:
			r.withoutStream()
		case !r.Idempotent || !errors.Is(err, predict.ErrInFlight):
			placed.How = r.How
			return placed, err
		}
	}
	return Placed{}, predict.ErrInFlight
}

func (p *Placer) try(r *Request) (Placed, error) {
	if r.Idempotent {
		if placed, err := p.existing(r); placed.State != Unknown || err != nil {
			return placed, err
		}
	}
	if p.Queues(r.How) {
		a, err := p.Queue().Accept(r.submission())
		return Placed{State: Queued, Accepted: a}, err
	}
	made, err := p.create(r)
	if err == nil {
		return Placed{State: Made, Prediction: made}, nil
	}
	if kind := predict.RefusalOf(err).Kind; r.Idempotent && kind != predict.RefusedStream &&
		kind != predict.RefusedTraining {
		// in flight: the error of this request does not matter
		if placed, joined := p.join(r); placed.State != Unknown || joined != nil {
			return placed, joined
		}
	}
	return Placed{}, err
}

// existing returns the prediction that a PUT names, if one is kept or in flight.
func (p *Placer) existing(r *Request) (Placed, error) {
	if p.Replays && r.Digest != "" {
		if placed := p.replay(r); placed.State != Unknown {
			return placed, nil
		}
	}
	here := p.Route.Holder(r.Kind, r.ID).Find(r.Kind, r.ID)
	if p.Queues(r.How) && (here == nil || here.Request.Attempt > 0) {
		return Placed{}, nil
	}
	if here == nil && p.Queue != nil {
		if placed, err := p.joinQueued(r); placed.State != Unknown || err != nil {
			return placed, err
		}
	}
	if r.How.Kind == predict.Stream { // Assign is called first: it checks whether the model streams
		return Placed{}, nil
	}
	return p.join(r)
}

// create makes the prediction of a request that does not end with an immediate answer: here, or in the queue.
func (p *Placer) create(r *Request) (*predict.Prediction, error) {
	if p.Queue == nil || !p.Queueing.All && !r.Outlives || r.Inlet != nil {
		made, err := r.Create(p.Route)
		if err == nil || p.Queue == nil || !p.Queueing.Overflow || r.Inlet != nil ||
			predict.RefusalOf(err).Reason() != predict.ReasonCapacity {
			return made, err
		}
	}
	s := r.submission()
	if s.Request.Deadline.IsZero() && !r.How.Bounded { // else it goes on after the client's wait
		if wait := p.Queueing.Wait(); wait > 0 {
			s.Request.Deadline = time.Now().Add(wait)
		}
	}
	return p.Queue().Submit(s, r.How.Bounded)
}

// join returns the prediction in flight that a PUT names, if there is one.
func (p *Placer) join(r *Request) (Placed, error) {
	holder := p.Route.Holder(r.Kind, r.ID)
	found := holder.Find(r.Kind, r.ID)
	if found == nil {
		return Placed{}, nil
	}
	if r.How.Kind != predict.Stream {
		shown, rec, ok := holder.Result(r.Kind, r.ID)
		if !ok {
			return Placed{}, nil // it ended meanwhile, and is not retained
		}
		return Placed{State: Known, Prediction: shown, Record: &rec, Joined: true}, nil
	}
	found.Hold()
	placed, err := followed(found)
	if errors.Is(err, predict.ErrNotObserved) { // it ended meanwhile, and its events are freed
		err = nil
	}
	return placed, err
}

// joinQueued returns the accepted prediction that a PUT names, if there is one.
func (p *Placer) joinQueued(r *Request) (Placed, error) {
	found, _ := p.Queue().Attach(r.Kind, r.ID, p.Queueing.All) // without an answer a server runs it here
	if found == nil && r.How.Kind == predict.Stream {
		found = p.Queue().AttachDirect(r.Kind, r.ID)
	}
	switch {
	case found == nil:
		return Placed{}, nil
	case predict.OtherInput(r.Digest, found.Request.Digest):
		found.Release()
		return Placed{}, predict.ErrOtherInput
	case r.How.Kind == predict.Stream:
		return Placed{State: Made, Prediction: found}, nil
	}
	found.Release()
	return p.stored(r.Kind, r.ID, false)
}

// Queues reports whether a request goes to the queue.
func (p *Placer) Queues(how negotiate.Mode) bool { return p.Queue != nil && how.Kind == predict.Async }

// Keeps reports whether the queue may need a body as it came.
func (p *Placer) Keeps(how negotiate.Mode) bool {
	return p.Queues(how) || p.Queue != nil && (p.Queueing.Overflow || p.Queueing.All)
}
