package webhook

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"pinion/runtime/logtext"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
)

// item is an event to deliver.
type item struct {
	event  predict.Events // a single event
	record predict.Record
	cost   int64 // bytes charged for it
}

// eventName returns the event's name in the contract.
func eventName(e predict.Events) string {
	switch e {
	case predict.OnStart:
		return "start"
	case predict.OnOutput:
		return "output"
	case predict.OnLogs:
		return "logs"
	}
	return "completed"
}

// delivery is the webhook of one prediction. It is a predict.Observer.
//
// Pending events are in three fields, the oldest first: queue, logs, completed. Every record has all text logged until
// then, so a newer event supersedes logs. Outputs are superseded only when there are too many.
type delivery struct {
	sender     *Sender
	account    *Account
	prediction *predict.Prediction
	target     *url.URL
	wake       chan struct{} // a token means that there is a new event

	mu        sync.Mutex
	queue     []item // start and outputs
	logs      item   // the newest; event 0 if there is none
	completed item   // event 0 if there is none
	logged    int    // bytes of logs in the record of the last EventLog
	reserved  int64  // bytes reserved since the prediction's end
	begun     bool   // start was queued
	isEnded   bool   // the prediction has ended
	ended     time.Time
	running   bool // run is running

	stored bool // for a Stored event, which uses none of the above

	// Used only by run.
	lastLogs  time.Time // when logs were last sent
	warned    bool      // a failure was logged
	delivered int       // number of events before the current one
}

// Observe adds an event. It is called with the prediction's lock held.
func (d *delivery) Observe(rec predict.Record, e predict.Event) {
	rec.Input = nil // not sent in webhooks
	want := d.prediction.Request.WebhookEvents
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isEnded {
		return
	}
	switch e.Kind {
	case predict.EventStart:
		if want&predict.OnStart == 0 || d.begun {
			return
		}
		d.begun = true
		d.queue = append(d.queue, item{event: predict.OnStart, record: rec})
	case predict.EventOutput:
		if want&predict.OnOutput == 0 {
			return
		}
		d.supersedeLogs()
		d.push(item{event: predict.OnOutput, record: rec})
	case predict.EventLog:
		d.logged = len(rec.Logs)
		if want&predict.OnLogs == 0 {
			return
		}
		d.supersedeLogs()
		d.logs = item{event: predict.OnLogs, record: rec}
	case predict.EventEnd:
		d.end(rec, want)
	default:
		return
	}
	switch {
	case !d.running:
		d.running = true
		d.sender.count(1, 0)
		go d.run()
	case e.Kind != predict.EventLog: // logs wait for Throttle
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
}

// push queues an output. Called with the lock held.
func (d *delivery) push(it item) {
	last := len(d.queue) - 1
	if last+1 < d.sender.o.MaxPending {
		it.cost = recordCost
		if last < 0 || !sameMemory(d.queue[last].record.Output, it.record.Output) { // a growing output moves
			it.cost += int64(cap(it.record.Output))
		}
		if d.sender.charge(it.cost) {
			d.queue = append(d.queue, it)
			return
		}
		it.cost = 0
	}
	d.report(predict.OnOutput, Dropped)
	if last >= 0 && d.queue[last].event == predict.OnOutput {
		it.cost = d.queue[last].cost
		d.queue[last] = it
	}
}

// recordCost is about how many bytes a waiting record takes, besides what it shares with the prediction.
const recordCost = 512

// sameMemory reports whether two slices begin at the same address.
func sameMemory(a, b []byte) bool { return cap(a) > 0 && cap(b) > 0 && &a[:1][0] == &b[:1][0] }

// supersedeLogs drops the pending logs. Called with the lock held.
func (d *delivery) supersedeLogs() {
	if d.logs.event != 0 {
		d.report(predict.OnLogs, Dropped)
		d.logs = item{}
	}
}

// end adds the last event. Called with the lock held.
func (d *delivery) end(rec predict.Record, want predict.Events) {
	d.isEnded, d.ended = true, d.sender.now()
	d.sender.count(0, 1)
	d.account.ended.Add(1)
	if d.reserved = d.prediction.Charged(); !d.sender.reserve(d.reserved) {
		d.reserved = 0
		d.completed = item{event: predict.OnCompleted, record: predict.Record{}}
		d.clear()
		go d.logFailure(predict.OnCompleted, 0, memory.ErrFull) // a log line may block
		return
	}
	switch {
	case want&predict.OnCompleted != 0:
		d.supersedeLogs()
		d.completed = item{event: predict.OnCompleted, record: rec}
	case want&predict.OnLogs != 0 && len(rec.Logs) > d.logged: // text that came with the answer
		d.supersedeLogs()
		d.logs = item{event: predict.OnLogs, record: rec}
	}
}

// run delivers until no event is pending.
func (d *delivery) run() {
	s := d.sender
	for {
		if s.ctx.Err() != nil {
			d.abandon()
		}
		it, wait := d.next()
		switch {
		case wait > 0:
			s.sleep(s.waits, wait, d.wake)
		case it.event != 0:
			d.deliver(it)
			d.delivered++
			s.uncharge(it.cost)
		case d.finish():
			return
		}
	}
}

// next removes and returns the next event, or says how long to wait for it. If it does neither, no event is pending.
func (d *delivery) next() (it item, wait time.Duration) {
	s := d.sender
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isEnded && (s.hastened() || s.now().Sub(d.ended) > s.o.Timeout) {
		d.shorten()
	}
	if len(d.queue) > 0 {
		it, d.queue[0] = d.queue[0], item{}
		if d.queue = d.queue[1:]; len(d.queue) == 0 {
			d.queue = nil
		}
		return it, 0
	}
	if d.logs.event != 0 {
		if wait = d.lastLogs.Add(s.o.Throttle).Sub(s.now()); wait > 0 && !s.hastened() {
			return item{}, wait
		}
		d.lastLogs = s.now()
		it, d.logs = d.logs, item{}
		return it, 0
	}
	it, d.completed = d.completed, item{}
	return it, 0
}

// abandon drops all pending events, because the sender is closed.
func (d *delivery) abandon() {
	d.mu.Lock()
	lost := d.completed.event != 0
	d.clear()
	d.mu.Unlock()
	if lost {
		d.logFailure(predict.OnCompleted, 0, ErrClosed)
	}
}

// clear drops all pending events. Called with the lock held.
func (d *delivery) clear() {
	for _, it := range append(d.queue, d.logs, d.completed) {
		if it.event != 0 {
			d.report(it.event, Dropped)
			d.sender.uncharge(it.cost)
		}
	}
	d.queue, d.logs, d.completed = nil, item{}, item{}
}

// shorten drops the queue except its newest event, and that too if completed is pending. Called with the lock held.
func (d *delivery) shorten() {
	keep := 1
	if d.completed.event != 0 {
		keep = 0
	}
	for len(d.queue) > keep {
		d.report(d.queue[0].event, Dropped)
		d.sender.uncharge(d.queue[0].cost)
		d.queue[0] = item{}
		d.queue = d.queue[1:]
	}
}

// finish ends the goroutine unless there is a new event. After the prediction's end it releases the prediction.
func (d *delivery) finish() bool {
	d.mu.Lock()
	if len(d.queue) > 0 || d.logs.event != 0 || d.completed.event != 0 {
		d.mu.Unlock()
		return false
	}
	d.running = false
	isEnded, reserved := d.isEnded, d.reserved
	d.mu.Unlock()
	if !isEnded {
		d.sender.count(-1, 0)
		return true
	}
	d.prediction.Release()
	d.account.ended.Add(-1)
	d.sender.unreserve(reserved)
	d.sender.count(-1, -1)
	return true
}

// deliver sends one event, and reports the outcome.
func (d *delivery) deliver(it item) {
	s := d.sender
	retries := 0
	if it.event == predict.OnCompleted && !s.hastened() && s.reserveRetry(d.reserved) {
		defer s.unreserveRetry(d.reserved)
		retries = s.o.Retries
	}
	tries, err := 1, d.first(it)
	if err != nil && retries > 0 && temporary(err) {
		d.account.retrying.Add(1)
		tries, err = d.retry(&it.record, retries, err)
		d.account.retrying.Add(-1)
	}
	if err == nil {
		d.report(it.event, Delivered)
		return
	}
	if errors.Is(err, ErrTimeout) {
		// Each further output would wait for the whole timeout of a receiver that does not answer.
		d.mu.Lock()
		d.shorten()
		d.mu.Unlock()
	}
	d.account.lost.Store(d.failure(err))
	d.logFailure(it.event, tries, err)
	d.report(it.event, Failed)
}

// first tries to deliver an event for the first time. When the server stops, it gives way to a completed event.
func (d *delivery) first(it item) error {
	s := d.sender
	if it.event == predict.OnCompleted {
		return s.post(s.ctx, d, &it.record)
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.waits, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.completed.event != 0 {
			cancel(errHastened)
		}
	})
	defer stop()
	return s.post(ctx, d, &it.record)
}

// retry tries again after an error, until the receiver accepts the event or refuses it for good, and for the last time
// when the server stops. It returns how many tries there were.
func (d *delivery) retry(rec *predict.Record, retries int, err error) (tries int, _ error) {
	s := d.sender
	tries = 1
	for last := false; !last && err != nil && tries <= retries && temporary(err); tries++ {
		s.o.Logger.Debug("cannot deliver a webhook event; will try again", "prediction_id", logtext.Clip(d.prediction.ID()),
			"receiver", origin(d.target), "error", shown(err))
		d.account.retried.Store(d.failure(err))
		s.sleep(s.waits, s.backoff.After(tries, err), nil)
		if s.ctx.Err() != nil {
			return tries, context.Cause(s.ctx)
		}
		last = s.hastened()
		err = s.post(s.ctx, d, rec)
	}
	return tries, err
}

func (d *delivery) failure(err error) *Failure { return &Failure{origin(d.target), shown(err)} }

// logFailure logs a failed event: completed as an error, the first of a prediction's others as a warning.
func (d *delivery) logFailure(event predict.Events, tries int, err error) {
	log := d.sender.o.Logger.Debug
	switch {
	case event == predict.OnCompleted:
		log = d.sender.o.Logger.Error
	case !d.warned:
		d.warned = true
		log = d.sender.o.Logger.Warn
	}
	log("webhook delivery failed", "prediction_id", logtext.Clip(d.prediction.ID()), "event", eventName(event), "receiver",
		origin(d.target), "tries", tries, "error", shown(err))
}
