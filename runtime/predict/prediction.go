package predict

import (
	"fmt"
	"sync"
	"time"

	"pinion/runtime/memory"
)

// Runner is what carries a prediction out; the service supplies it.
type Runner interface {
	// Submit enters p in the line, unless something has to be done for it first; Run then finds it there.
	Submit(p *Prediction)
	// Run blocks until p has ended or was refused.
	Run(p *Prediction) error
	// Cancel asks for the end of p; it does not wait.
	Cancel(p *Prediction)
}

// Prediction is one prediction from acceptance to its last answer. Its record is guarded by its
// mutex; everything else is set before it is shared.
type Prediction struct {
	Request  Request  // after the last Release only what GET shows is left of it; see compact
	Warnings []string // of its input, for its client
	told     bool
	registry *Registry // that it was entered in
	finished bool      // guarded by the registry's lock: it is kept, and in flight no more
	charge   memory.Charge

	mu        sync.Mutex
	spent     int64  // bytes of the charge that are in use
	overrun   bool   // what it yielded does not fit into the memory budget
	gone      bool   // nothing of it is kept, and what Release has given back stands in its record
	compacted int64  // bytes that are kept of it; 0: it is as it was while somebody held it
	runner    Runner // nil once nobody holds the prediction
	record    Record
	yielded   uint64
	cut       int // bytes of its logs that were dropped
	canceled  bool
	file      *OutFile // nil: the output is what the record says
	feed      *feed    // nil: nobody can want to know of its events, or nobody holds it any more
	observers []Observer
	done      chan struct{} // made when somebody asks
	holds     int           // who has not had its last answer
	release   []func()      // what to give back with the last of these
}

// Options of a prediction that its server knows.
type Options struct {
	// History is how many of the last events those who join it late may have; negative: none, and they
	// follow it from there on; 0: the default.
	History int
	// Version of the model, "" where it is not known.
	Version string
	// Memory bounds what predictions hold; nil: nothing does.
	Memory *memory.Budget
}

// New makes a prediction in Starting. id must not be empty. It is held once.
func New(id string, req Request, now time.Time, runner Runner, o Options) *Prediction {
	created := req.Created
	if created.IsZero() {
		created = now
	}
	p := &Prediction{
		Request: req,
		runner:  runner,
		holds:   1,
		record: Record{
			ID: id, Kind: req.Kind, Created: created, CreatedText: req.CreatedText, Version: o.Version,
		},
	}
	p.charge.Open(o.Memory)
	if p.told = req.told(); p.told {
		p.feed = &feed{history: DefaultHistory}
		if o.History != 0 {
			p.feed.history = uint64(max(0, o.History))
		}
	}
	return p
}

// ID is the prediction's id.
func (p *Prediction) ID() string { return p.record.ID } // never changes

// Runner is what carries the prediction out; nil once nobody holds it.
func (p *Prediction) Runner() Runner {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runner
}

// Told tells whether the prediction's events are to be told as they happen.
func (p *Prediction) Told() bool { return p.told }

// Watch adds an observer. It is called before the prediction is carried out.
func (p *Prediction) Watch(o Observer) {
	p.mu.Lock()
	p.observers = append(p.observers, o)
	p.mu.Unlock()
}

// Submit enters the prediction in the line of those that wait for the model, unless its files have to be fetched first: who comes
// after it is served after it. Whoever calls it calls Wait next.
func (p *Prediction) Submit() {
	if runner := p.Runner(); runner != nil {
		runner.Submit(p)
	}
}

// Wait carries the prediction out and returns when it has ended (nil) or was refused after all
// (ErrQueueTimeout, NotReadyError). Exactly one goroutine calls it, once: it is that goroutine
// that moves the bytes.
func (p *Prediction) Wait() error {
	p.mu.Lock()
	runner := p.runner
	p.mu.Unlock()
	return runner.Run(p)
}

// Done is closed when the prediction has ended.
func (p *Prediction) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		p.done = make(chan struct{})
		if p.record.Status.Terminal() {
			close(p.done)
		}
	}
	return p.done
}

// Cancel asks for the prediction's end; Wait returns when it has come. Safe at any time, from any
// goroutine, any number of times.
func (p *Prediction) Cancel() {
	p.mu.Lock()
	first := !p.canceled && !p.record.Status.Terminal()
	p.canceled = true
	runner := p.runner
	p.mu.Unlock()
	if first && runner != nil {
		runner.Cancel(p)
	}
}

// CancelAsked tells whether Cancel was called.
func (p *Prediction) CancelAsked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.canceled
}

// Record is a copy of the prediction's public state. Its slices are shared and not to be written.
func (p *Prediction) Record() Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.record
}

// Begin moves the prediction to Processing.
func (p *Prediction) Begin(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.record.Status.CanMove(Processing) {
		return false
	}
	p.record.Status = Processing
	p.record.Started = now
	p.tell(Event{Kind: EventStart})
	return true
}

// Output adds an item that the model yielded. It copies it. It may wait for those who follow the prediction, for
// 50 ms at most; see pace.go. false: the item does not fit into the memory budget; the prediction is to be ended, and fails.
func (p *Prediction) Output(item []byte) bool {
	crowd, fits := p.output(item)
	if crowd != nil {
		p.pace(crowd)
	}
	return fits
}

func (p *Prediction) output(item []byte) (crowd []*Subscription, fits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rec := &p.record
	switch {
	case rec.Status.Terminal():
		return nil, true
	case p.overrun:
		return nil, false
	case !p.growOutput(len(item) + 2):
		p.overrun = true
		return nil, false
	}
	if rec.Open {
		rec.Output = append(rec.Output, ',')
	} else {
		rec.Output, rec.Open = append(rec.Output[:0], '['), true
	}
	begin := len(rec.Output)
	rec.Output = append(rec.Output, item...)
	p.tell(Event{Kind: EventOutput, Index: p.yielded, Data: rec.Output[begin:len(rec.Output):len(rec.Output)]})
	p.yielded++
	if p.feed != nil {
		crowd = p.feed.crowded(nil)
	}
	return crowd, true
}

// Log adds text that the model wrote to one of its streams. It copies it.
func (p *Prediction) Log(source string, text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.record.Status.Terminal() || len(text) == 0 {
		return
	}
	if p.feed != nil && !p.afford(len(text)) { // the copy that subscribers get
		p.cut += len(text)
		return
	}
	p.keepLogs(text)
	if p.feed != nil || p.observers != nil {
		p.tell(Event{Kind: EventLog, Source: source, Data: append([]byte(nil), text...)})
	}
}

// keepLogs adds text to the record, as far as there is room. Called with the lock held.
func (p *Prediction) keepLogs(text []byte) {
	room := min(len(text), maxLogs-len(p.record.Logs))
	if room > 0 && !p.growLogs(room) {
		room = 0
	}
	p.record.Logs = append(p.record.Logs, text[:room]...)
	p.cut += len(text) - room
}

// Metric tells of a metric: a JSON object of name, value and mode. It copies it. false: it does not fit into the memory
// budget; the prediction is to be ended, and fails.
func (p *Prediction) Metric(metric []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.record.Status.Terminal() {
		return true
	}
	before, live := p.record.live.size(), p.record.live.with(metric)
	if p.overrun || !p.afford(live.size()-before+len(metric)) {
		p.overrun = true
		return false
	}
	p.record.live = live
	p.tell(Event{Kind: EventMetric, Data: append([]byte(nil), metric...)})
	return true
}

// tell tells everybody of an event. Called with the lock held.
func (p *Prediction) tell(e Event) {
	if p.feed != nil {
		p.spent += int64(p.feed.add(e, len(p.record.Output)))
	}
	for _, o := range p.observers {
		o.Observe(p.record, e)
	}
}

// End moves the prediction to its end. Only the first call has an effect; it returns whether it was.
func (p *Prediction) End(r Result, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !r.Status.Terminal() || !p.record.Status.CanMove(r.Status) {
		return false
	}
	rec := &p.record
	p.finishOutput(&r)
	rec.Status = r.Status
	rec.Error = r.Error
	p.spent -= int64(rec.live.size())
	rec.Metrics, rec.live = r.Metrics, nil
	if !p.told {
		rec.Logs = r.Logs // bounded by whoever collected them
	} else {
		p.keepLogs(r.Logs)
	}
	if p.cut > 0 {
		rec.Logs = fmt.Appendf(rec.Logs, "\n[%d bytes of log were cut: a prediction keeps %d MiB of it]\n", p.cut, maxLogs>>20)
	}
	rec.Completed = now
	if rec.Started.IsZero() && r.Elapsed > 0 {
		rec.Started = now.Add(-r.Elapsed)
	}
	p.tell(Event{Kind: EventEnd})
	if p.done != nil {
		close(p.done)
	}
	return true
}

// finishOutput makes the record's output final. What was yielded before a failure stays. Called with the
// lock held.
func (p *Prediction) finishOutput(r *Result) {
	rec := &p.record
	switch {
	case rec.Open: // output has left room for this
		rec.Output, rec.Open = append(rec.Output, ']'), false
	case r.Yielded && r.Status == Succeeded:
		rec.Output = []byte("[]")
	case r.Output != nil:
		rec.Output = r.Output
		if r.Status == Succeeded && len(p.observers) > 0 && string(r.Output) != "null" { // a webhook is told of a returned output too
			p.tell(Event{Kind: EventOutput, Index: 0, Data: r.Output})
		}
	}
}

// OnRelease registers what is given back with the last Release (a folder, a mapping), last in first out.
func (p *Prediction) OnRelease(f func()) {
	p.mu.Lock()
	p.release = append(p.release, f)
	p.mu.Unlock()
}

// Hold keeps what the prediction holds until one more Release.
func (p *Prediction) Hold() {
	p.mu.Lock()
	p.hold()
	p.mu.Unlock()
}

// hold is Hold. Called with the lock held.
func (p *Prediction) hold() {
	if p.holds++; p.holds == 1 { // it was kept, and somebody looks at it
		p.charge.Hold()
	}
}

// Release says that one of those who hold the prediction has used its Record for the last time. With the
// last of them it gives back what the prediction held.
func (p *Prediction) Release() {
	p.mu.Lock()
	p.holds--
	if p.holds != 0 {
		p.mu.Unlock()
		return
	}
	fs := p.release
	// Its record may be kept for long, and all this must not be with it.
	p.release, p.runner, p.feed, p.observers = nil, nil, nil, nil
	bytes, first := p.compact()
	p.mu.Unlock()
	for i := len(fs) - 1; i >= 0; i-- {
		fs[i]()
	}
	if bytes > 0 {
		p.charge.Resize(bytes)
	}
	if first {
		p.registry.keepReleased(p, int(bytes))
	}
	p.charge.Release()
}
