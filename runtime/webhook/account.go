package webhook

import (
	"sync/atomic"

	"pinion/runtime/predict"
)

// Account counts the deliveries of one model. The sender delivers them with all others.
type Account struct {
	sender   *Sender
	ended    atomic.Int64 // deliveries whose prediction has ended
	retrying atomic.Int64 // events that failed and are retried
	losses   atomic.Uint64
	// The last failure of an event that is retried, and of one that is not; nil if there was none.
	retried, lost atomic.Pointer[Failure]
}

// State is the state of an account's deliveries at one moment.
type State struct {
	Pending  int      // ended predictions with events that are not delivered yet
	Retrying int      // events that failed and are retried
	Losses   uint64   // events that failed for good, and ends of predictions that were never sent
	Retried  *Failure // the last failure of an event that is retried; nil if there was none
	Lost     *Failure // the last failure of an event that is not retried
}

// Failure is why a try failed, in words that a log may show.
type Failure struct{ Receiver, Error string }

// Account returns a new account.
func (s *Sender) Account() *Account { return &Account{sender: s} }

// State returns the current state.
func (a *Account) State() State {
	return State{
		Pending: int(a.ended.Load()), Retrying: int(a.retrying.Load()), Losses: a.losses.Load(),
		Retried: a.retried.Load(), Lost: a.lost.Load(),
	}
}

// Attach delivers p's events to its webhook, and holds p until that is done. Call it before p runs, and only if p will
// run: p's end releases the hold. A request without a webhook, or whose filter excludes all events, costs nothing.
func (a *Account) Attach(p *predict.Prediction) {
	if p.Request.Webhook == "" || p.Request.WebhookEvents&predict.AllEvents == 0 {
		return
	}
	if target := a.sender.target(p.Request.Webhook, p.ID()); target != nil {
		p.Hold()
		p.Watch(&delivery{sender: a.sender, account: a, prediction: p, target: target, wake: make(chan struct{}, 1)})
	}
}

// report reports the outcome of an event's delivery.
func (d *delivery) report(event predict.Events, outcome string) {
	if outcome == Failed || outcome == Dropped && event == predict.OnCompleted {
		d.account.losses.Add(1)
	}
	d.sender.o.OnDelivery(eventName(event), outcome)
}
