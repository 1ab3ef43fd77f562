package webhook

import (
	"context"
	"sync/atomic"
	"time"

	"pinion/runtime/predict"
)

// Account counts the deliveries of one model. The sender delivers them with all others.
type Account struct {
	sender   *Sender
	ended    atomic.Int64 // deliveries whose prediction has ended
	retrying atomic.Int64 // events that failed and are tried again
	losses   atomic.Uint64
	// The last failure of an event that is tried again, and of one that is not; nil means none yet.
	retried, lost atomic.Pointer[Failure]
}

// State is what the deliveries of an account do at a moment.
type State struct {
	Pending  int      // ended predictions with events that are not delivered yet
	Retrying int      // events that failed and are tried again
	Losses   uint64   // events that failed for good, and ends of predictions that were never sent
	Retried  *Failure // the last one of an event that is tried again; nil means none since the start
	Lost     *Failure // the last one of an event that is not
}

// Failure is why a try failed, in words that a log may show.
type Failure struct{ Receiver, Error string }

// Account returns a new account.
func (s *Sender) Account() *Account { return &Account{sender: s} }

// State returns the state of this moment.
func (a *Account) State() State {
	return State{
		Pending: int(a.ended.Load()), Retrying: int(a.retrying.Load()), Losses: a.losses.Load(),
		Retried: a.retried.Load(), Lost: a.lost.Load(),
	}
}

// Attach is Sender.Attach, and counts.
func (a *Account) Attach(p *predict.Prediction) { a.sender.attach(p, a) }

// Post is Sender.Post, and counts.
func (a *Account) Post(ctx context.Context, e Stored, tries int) time.Duration {
	return a.sender.postStored(ctx, e, tries, a)
}

// report reports the outcome of an event's delivery.
func (d *delivery) report(event predict.Events, outcome string) {
	if outcome == Failed || outcome == Dropped && event == predict.OnCompleted {
		d.account.losses.Add(1)
	}
	d.sender.o.OnDelivery(eventName(event), outcome)
}
