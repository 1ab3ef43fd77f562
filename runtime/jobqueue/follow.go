package jobqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// Submit accepts a submission whose client waits for its end here: the prediction that it returns stands for the job,
// wherever it runs. Its Run returns when the job has ended; its events are those of the job; Cancel cancels the job.
// The errors are those of Accept. If outlivesMember, the job goes on when this member is lost.
func (m *Member) Submit(s request.Submission, outlivesMember bool) (*predict.Prediction, error) {
	if s.Request.ID == "" {
		s.Request.ID = predict.NewID(time.Now())
	}
	ask, err := m.ask(0, s.Request.Deadline) // the queue tells where its notices go
	if err != nil {
		return nil, err
	}
	ask.end()
	q := ask.q
	f := &follower{m: m, q: q, id: s.Request.ID, notices: make(chan live.Notice, 1)}
	f.reply = q.Live.ReplySubject(f.id)
	m.waiters.add(f) // before it is accepted, or its first notice is missed
	to := replyTo{reply: f.reply}
	if !outlivesMember {
		to.waiter = q.Live.Waiter()
	}
	if s.Request.Mode != predict.Stream {
		to.startAfter = eventsDelay
	}
	a, err := m.accept(s, to)
	if err == nil && a.Object != nil {
		err = predict.ErrInFlight // the caller looked for it before, and asks again
	}
	if err != nil {
		m.waiters.remove(f)
		return nil, err
	}
	p := f.prediction(predict.Request{
		ID: f.id, Kind: s.Request.Kind, Mode: s.Request.Mode, Idempotent: s.Request.Idempotent,
		Created: s.Request.Created, CreatedText: s.Request.CreatedText, Version: s.Request.Version,
	})
	p.Warnings = a.Warnings
	return p, nil
}

// Attach returns a prediction that represents a job that is known, for a client that only reads, or nil if none is
// known. The client waits for NATS only if it needs the answer.
func (m *Member) Attach(kind predict.Kind, id string, needed bool) (*predict.Prediction, error) {
	if _, err := m.reached(); err != nil && !needed {
		return nil, err
	}
	ask, err := m.ask(state.MaxObject, time.Time{})
	if err != nil {
		return nil, err
	}
	ctx := ask.Context
	if !needed {
		short, cancel := context.WithTimeout(ask, natsTimeout)
		defer cancel()
		ctx = short
	}
	s, err := ask.q.Find(ctx, id, m)
	defer ask.done(err)
	defer s.Release()
	switch {
	case err != nil && !errors.Is(err, state.ErrUnknown):
		return nil, m.refusal(id, err)
	case err != nil || predictKind(s.Kind) != kind:
		return nil, nil
	}
	f := &follower{m: m, q: ask.q, id: id, notices: make(chan live.Notice, 1), readOnly: true}
	return f.prediction(predict.Request{
		ID: id, Kind: kind, Mode: predict.Async, Created: readObject(id, s.Prediction).Created,
		Digest: string(s.Digest),
	}), nil
}

// waiters are the followers that wait for a notice, by subject.
type waiters struct {
	mu        sync.Mutex
	bySubject map[string][]*follower
}

func (w *waiters) add(f *follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bySubject == nil {
		w.bySubject = map[string][]*follower{}
	}
	w.bySubject[f.reply] = append(w.bySubject[f.reply], f)
}

func (w *waiters) remove(f *follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	others := slices.DeleteFunc(w.bySubject[f.reply], func(other *follower) bool { return other == f })
	if len(others) == 0 {
		delete(w.bySubject, f.reply) // also where none was ever added, and there is no map
		return
	}
	w.bySubject[f.reply] = others
}

// notify tells the followers of a subject.
func (w *waiters) notify(subject string, n live.Notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.bySubject[subject] {
		f.notify(n)
	}
}

// follower runs a prediction that represents a job. It implements predict.Runner.
type follower struct {
	m        *Member
	q        *store.Queue
	id       string
	reply    string           // "" means it gets no notices
	notices  chan live.Notice // the last one
	readOnly bool             // Cancel does nothing
	// lookup is set if the prediction is direct: it is not a job.
	lookup *live.Lookup

	// Used by Run alone.
	p           *predict.Prediction
	stream      *live.Stream    // nil means it has not asked for the events yet
	attempt     int             // the run whose events came; 0 means none
	known       int             // the last run that a state named
	had         uint64          // how many events of attempt came, or were lost for good; 0 also of an older server
	asked       bool            // the next event is the first of a request
	nextOutput  uint64          // index of the next output of attempt
	lastEvent   time.Time       // or when they were asked for
	runEnded    time.Time       // when the run was seen to end; zero means not yet
	sawMetric   bool            // a metric came
	outOfMemory bool            // its outputs do not fit into the memory budget
	final       json.RawMessage // of the end of a direct prediction: its object
}

func (f *follower) prediction(req predict.Request) *predict.Prediction {
	f.p = predict.New(f.id, &req, time.Now(), f, predict.Options{Memory: f.m.o.Memory})
	return f.p
}

// notify hands a notice to Run, in place of one that it has not taken. A notice that the job has begun does not replace
// its end.
func (f *follower) notify(n live.Notice) {
	for {
		select {
		case f.notices <- n:
			return
		default:
		}
		select {
		case before := <-f.notices:
			if n.Started() {
				n = before
			}
		default:
		}
	}
}

// Submit implements predict.Runner: the job is in the queue.
func (f *follower) Submit(*predict.Prediction) {}

// Cancel cancels the job.
func (f *follower) Cancel(*predict.Prediction) {
	if f.readOnly {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), natsTimeout)
		defer cancel()
		_, _ = f.q.Cancel(ctx, f.id, "", f.m) // the state says what came of it
		f.notify(nil)
	}()
}

const (
	// checkInterval is how often a follower reads the state, which decides: notices and events may be lost.
	checkInterval = 5 * time.Second
	// eventsTimeout is how long a follower waits for an event before it asks for all again.
	eventsTimeout = 15 * time.Second
	// endCheckInterval is how often it reads the state once the run has ended, because the state follows at once; it
	// does so for endCheckFor. startCheckInterval is how often it reads the state while it waits for the first event of
	// a job of which it gets no notice.
	endCheckInterval   = 20 * time.Millisecond
	endCheckFor        = 2 * time.Second
	startCheckInterval = 200 * time.Millisecond
	// eventsDelay is how long a job runs before its events are asked for, if its client waits for the end alone: only a
	// client that stops waiting gets the logs and outputs so far.
	eventsDelay = 100 * time.Millisecond
)

// nextCheck returns how long it waits before it reads the state again.
func (f *follower) nextCheck(running bool) time.Duration {
	switch {
	case !f.runEnded.IsZero() && time.Since(f.runEnded) < endCheckFor:
		return endCheckInterval
	case f.reply == "" && (!running || f.attempt == 0):
		return startCheckInterval
	}
	return checkInterval
}

// Run follows the job until it has ended.
func (f *follower) Run(p *predict.Prediction) error {
	if f.lookup != nil {
		return f.runDirect()
	}
	defer f.m.waiters.remove(f)
	defer f.close()
	timer := time.NewTimer(checkInterval)
	defer timer.Stop()
	if f.reply == "" {
		f.notify(nil)
	}
	for {
		var events <-chan *nats.Msg
		if f.stream != nil {
			events = f.stream.C
		}
		var notice live.Notice
		select {
		case msg := <-events:
			if f.handleEvent(msg) {
				if f.outOfMemory {
					return f.endOutOfMemory()
				}
				f.runEnded = time.Now()
				timer.Reset(endCheckInterval)
			}
			continue
		case notice = <-f.notices:
		case <-timer.C:
		}
		if notice.Started() && f.stream != nil { // another run: no more events of the last one come
			f.lastEvent = time.Time{}
		}
		running := notice.Started() && f.attempt == 0 // else the state reports whether it is another run
		if !running {
			var ended bool
			var err error
			if ended, running, err = f.checkState(notice); ended {
				return err
			}
		}
		if running {
			if err := f.requestEvents(); err != nil {
				return f.m.refusal(f.id, err)
			}
		}
		timer.Reset(f.nextCheck(running))
	}
}

// requestEvents asks for the events of the job that runs, unless some came lately.
func (f *follower) requestEvents() (err error) {
	if f.stream == nil {
		if f.stream, err = f.q.Live.Follow(f.id); err != nil {
			return err
		}
	}
	if time.Since(f.lastEvent) > eventsTimeout {
		f.request()
	}
	return nil
}

// request asks for the events after those that came.
func (f *follower) request() {
	if f.stream.Request(f.attempt, f.had) {
		f.lastEvent, f.asked = time.Now(), true
	}
}

// close ends the events.
func (f *follower) close() {
	if f.stream != nil {
		f.stream.Close()
	}
}

// handleEvent passes an event on; true means it was the last.
func (f *follower) handleEvent(msg *nats.Msg) (last bool) {
	f.lastEvent = time.Now()
	e, ok := f.stream.Read(msg)
	switch {
	case !ok || e.Attempt < f.attempt:
		return false
	case e.Attempt > f.attempt:
		f.attempt, f.nextOutput, f.had = e.Attempt, 0, 0
	}
	if !f.isNext(&e) {
		return false
	}
	p := f.p
	switch e.Event {
	case live.EventStart:
		p.Begin(time.Now())
	case live.EventOutput:
		switch {
		case e.Index > f.nextOutput && e.Number == 0: // an older server: all come again
			f.request()
		case e.Index == f.nextOutput:
			f.nextOutput++
			if f.outOfMemory = !p.Output(e.Data); f.outOfMemory {
				return true
			}
		}
	case live.EventLog:
		if source, text := readLogEvent(e.Data); text != nil {
			p.Log(source, text)
		}
	case live.EventMetric:
		f.sawMetric = true
		p.Metric(e.Data)
	case live.EventEnd:
		f.final = e.Data
		p.OnRelease(e.Result.Release)
		return true
	}
	return false
}

// isNext reports whether an event follows the last one. If some were lost on the way, it asks for them, once: they come
// in place of those that wait here. If the server no longer has them, the state has the outputs at the end.
func (f *follower) isNext(e *live.Event) bool {
	first := f.asked
	f.asked = false
	switch {
	case e.Number == 0:
		return true
	case e.Number <= f.had:
		return false
	case e.Number > f.had+1 && !first && f.had > 0:
		f.request()
		return false
	}
	f.had = e.Number
	return true
}

// endOutOfMemory ends a prediction whose outputs do not fit. The job is canceled, unless others follow it too.
func (f *follower) endOutOfMemory() error {
	f.Cancel(f.p)
	f.p.End(predict.Result{Status: predict.Failed, OverBudget: true, Error: fmt.Sprintf(
		"The prediction's output does not fit into this server's memory budget of %d MiB", f.m.o.Memory.Stats().Limit>>20)},
		time.Now())
	return nil
}

// checkState takes the state from a notice, or reads it, and ends the prediction if the job has ended.
func (f *follower) checkState(n live.Notice) (ended, running bool, err error) {
	ctx, cancel := state.WithIdleTimeout(natsTimeout, state.MaxObject)
	defer cancel()
	s, ok := f.q.Live.Ended(ctx, n)
	if !ok {
		s, err = f.q.Find(ctx, f.id, f.m)
	}
	switch {
	case errors.Is(err, state.ErrUnknown):
		f.p.End(predict.Result{Status: predict.Failed, Error: "the prediction is no longer known"}, time.Now())
		return true, true, nil
	case err != nil: // NATS is away: the job goes on
		return false, false, nil
	case s.Status == state.Processing:
		f.noteAttempt(s.Attempt)
		return false, true, nil
	case !s.Status.Ended():
		return false, false, nil
	}
	f.p.OnRelease(s.Release) // the prediction's record refers to its bytes
	return true, true, f.end(&s)
}

// noteAttempt makes requestEvents ask again if the job has begun another run.
func (f *follower) noteAttempt(attempt int) {
	if before := max(f.attempt, f.known); before > 0 && attempt > before {
		f.lastEvent, f.runEnded = time.Time{}, time.Time{}
	}
	f.known = attempt
}
