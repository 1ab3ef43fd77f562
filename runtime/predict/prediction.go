package predict

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"pinion/runtime/logtext"
	"pinion/runtime/memory"
)

// Runner executes a prediction; the service supplies it.
type Runner interface {
	// Submit puts p in the queue, unless something must be done first. Run expects it there.
	Submit(p *Prediction)
	// Run blocks until p has ended or was refused.
	Run(p *Prediction) error
	// Cancel requests the end of p and does not wait for it.
	Cancel(p *Prediction)
}

// Prediction is one prediction from acceptance to its last answer. mu guards all fields after it; those before it are
// set before the prediction is shared.
type Prediction struct {
	Request  Request  // after the last Release only what GET shows remains; see compact
	Warnings []string // about its input, for the client
	id       string
	version  string // of the model
	registry *Registry
	charge   memory.Charge              // safe for concurrent use
	observed bool                       // its events may be requested before its end
	calls    atomic.Pointer[callRecord] // nil if it has called no other model
	finished bool                       // guarded by the registry's lock: it is retained, and no longer in flight

	mu       sync.Mutex
	canceled bool
	usage    usage
	runner   Runner // nil after the last Release
	record   Progress
	file     *OutputFile   // nil means the record has the output
	folder   *OutputFolder // nil if there is none
	logsCut  int           // bytes of its logs that were dropped
	done     chan struct{} // made by the first call to Done
	events   events
	holds    int      // calls to Release that are due
	release  []func() // run by the last Release
}

// usage says how a prediction uses its charge.
type usage struct {
	bytes      int64
	compacted  int64 // size after compact; 0 means not compacted
	overBudget bool  // something it yielded did not fit into the memory budget
	dropped    bool  // not retained: its memory was freed by the last Release
}

type events struct {
	feed      *feed // nil means not observed, or after the last Release
	observers []Observer
	yielded   uint64
}

// Options are the server's settings for each prediction.
type Options struct {
	// History is how many past events a late subscriber receives. Negative means none; 0 means DefaultHistory.
	History int
	// Memory bounds the memory of predictions; nil means no bound.
	Memory *memory.Budget
}

// New returns a prediction of a copy of the request, in the state Starting and with one hold. id must not be empty.
func New(id string, req *Request, now time.Time, runner Runner, o Options) *Prediction {
	p := &Prediction{Request: *req, id: id, version: req.Version, runner: runner, holds: 1}
	if p.Request.Created.IsZero() {
		p.Request.Created = now
	}
	p.charge.Open(cmp.Or(req.Copy, o.Memory))
	if p.observed = req.observed(); p.observed {
		p.events.feed = &feed{history: DefaultHistory}
		if o.History != 0 {
			p.events.feed.history = uint64(max(0, o.History))
		}
	}
	return p
}

func (p *Prediction) ID() string { return p.id } // never changes

// Runner returns what executes the prediction; nil after the last Release.
func (p *Prediction) Runner() Runner {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runner
}

// Observed reports whether the prediction's events are emitted as they happen.
func (p *Prediction) Observed() bool { return p.observed }

// Watch adds an observer. It is called before Submit and Run.
func (p *Prediction) Watch(o Observer) {
	p.mu.Lock()
	p.events.observers = append(p.events.observers, o)
	p.mu.Unlock()
}

// Submit puts the prediction in the queue at its position by arrival, unless its files must be fetched first. The
// caller calls Run next.
func (p *Prediction) Submit() {
	if runner := p.Runner(); runner != nil {
		runner.Submit(p)
	}
}

// Run executes the prediction and returns when it has ended (nil) or was refused after all (ErrQueueTimeout,
// NotReadyError). Exactly one goroutine calls it, once: that goroutine moves the bytes.
func (p *Prediction) Run() error { return p.Runner().Run(p) }

// Start calls Submit and then, in a new goroutine, Run.
func (p *Prediction) Start() {
	p.Hold()
	p.Submit()
	go func() {
		defer p.Release()
		_ = p.Run() // its record has the error
	}()
}

// Done returns a channel that is closed when the prediction has ended.
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

// Cancel requests the prediction's end and does not wait for it. It may be called at any time, from any goroutine, any
// number of times.
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

func (p *Prediction) CancelAsked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.canceled
}

// Record returns a copy of the prediction's public state. Its slices are shared: do not write to them.
func (p *Prediction) Record() Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.recordNow()
}

// recordNow is Record with the lock held.
func (p *Prediction) recordNow() Record {
	req := &p.Request // these fields of it never change
	return Record{
		ID: p.id, Kind: req.Kind, Created: req.Created, CreatedText: req.CreatedText, Version: p.version,
		Members: req.Members, Progress: p.record,
	}
}

func (p *Prediction) Begin(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.record.Status.move(Processing) {
		return false
	}
	p.record.Started = now
	p.emit(Event{Kind: EventStart})
	return true
}

// Output adds a copy of an item that the model yielded. It may wait up to 50 ms for lagging subscribers; see pace.go.
// It returns false if the item does not fit into the memory budget: the caller then ends the prediction, which
// fails.
func (p *Prediction) Output(item []byte) bool {
	lagging, fits := p.Yield(item)
	p.Flush()
	p.Pace(lagging)
	return fits
}

// Yield is Output without the wait, which is Pace, and without its subscribers: the caller calls Flush when it has no
// more items for now.
func (p *Prediction) Yield(item []byte) (lagging Lagging, fits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rec := &p.record
	switch {
	case rec.Status.Terminal():
		return nil, true
	case p.usage.overBudget:
		return nil, false
	case !p.grow(&rec.Output, len(item)+2):
		p.usage.overBudget = true
		return nil, false
	}
	if rec.Open {
		rec.Output = append(rec.Output, ',')
	} else {
		rec.Output, rec.Open = append(rec.Output[:0], '['), true
	}
	begin := len(rec.Output)
	rec.Output = append(rec.Output, item...)
	if f := p.events.feed; f != nil {
		f.held = true
		defer func() { f.held = false }()
	}
	p.emit(Event{Kind: EventOutput, Index: p.events.yielded, Data: rec.Output[begin:len(rec.Output):len(rec.Output)]})
	p.events.yielded++
	if p.events.feed != nil {
		lagging = p.events.feed.laggingSubscribers(nil)
	}
	return lagging, true
}

// Yielded reports whether the output's items were yielded while the prediction was observed.
func (p *Prediction) Yielded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.events.yielded > 0
}

// Log adds a copy of text that the model wrote to one of its streams.
func (p *Prediction) Log(source string, text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.record.Status.Terminal() || len(text) == 0 {
		return
	}
	if p.events.feed != nil && !p.chargeLocked(len(text)) { // the copy for subscribers
		p.logsCut += len(text)
		return
	}
	p.appendLogs(text)
	if p.events.feed != nil || p.events.observers != nil {
		p.emit(Event{Kind: EventLog, Source: source, Data: append([]byte(nil), text...)})
	}
}

// appendLogs adds as much of the text to the record as there is room for. Called with the lock held.
func (p *Prediction) appendLogs(text []byte) {
	room := min(len(text), logtext.Max-len(p.record.Logs))
	if room > 0 && !p.grow(&p.record.Logs, room) {
		room = 0
	}
	kept := text[:room]
	if room < len(text) {
		kept = logtext.Complete(kept)
	}
	p.record.Logs = append(p.record.Logs, kept...)
	p.logsCut += len(text) - len(kept)
}

// Metric adds a copy of a metric, a JSON object of name, value and mode. It returns false if the metric does not fit
// into the memory budget: the caller then ends the prediction, which fails.
func (p *Prediction) Metric(metric []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.record.Status.Terminal() {
		return true
	}
	before, live := p.record.live.size(), p.record.live.with(metric)
	if p.usage.overBudget || !p.chargeLocked(live.size()-before+len(metric)) {
		p.usage.overBudget = true
		return false
	}
	p.record.live = live
	p.emit(Event{Kind: EventMetric, Data: append([]byte(nil), metric...)})
	return true
}

// emit passes an event to the feed and the observers. Called with the lock held.
func (p *Prediction) emit(e Event) {
	if p.events.feed != nil {
		p.usage.bytes += int64(p.events.feed.add(e, len(p.record.Output)))
	}
	for _, o := range p.events.observers {
		o.Observe(p.recordNow(), e)
	}
}

// End ends the prediction. Only the first call has an effect and returns true.
func (p *Prediction) End(r Result, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	rec := &p.record
	if !r.Status.Terminal() || !statusMoves.Allows(rec.Status, r.Status) {
		return false
	}
	p.finishOutput(&r) // emits an event before the status changes
	rec.Status.move(r.Status)
	rec.Error, rec.Reason, rec.Fault, rec.OverBudget = r.Error, r.Reason, r.Fault, r.OverBudget
	if r.Version != "" {
		p.version = r.Version
	}
	p.usage.bytes -= int64(rec.live.size())
	rec.Metrics, rec.live = r.Metrics, nil
	if !p.observed {
		rec.Logs = r.Logs // the caller has bounded them
	} else {
		p.appendLogs(r.Logs)
	}
	rec.Logs = logtext.AppendNotice(rec.Logs, p.logsCut)
	rec.Completed, rec.Times = now, r.Times
	if rec.Started.IsZero() && r.Elapsed > 0 {
		rec.Started = now.Add(-r.Elapsed)
	}
	p.emit(Event{Kind: EventEnd})
	if p.Request.Inlet != nil {
		p.Request.Inlet.close()
	}
	if p.done != nil {
		close(p.done)
	}
	return true
}

// finishOutput makes the record's output final. Items that were yielded before a failure stay. Called with the lock
// held.
func (p *Prediction) finishOutput(r *Result) {
	rec := &p.record
	switch {
	case rec.Open: // output reserved room for the bracket
		rec.Output, rec.Open = append(rec.Output, ']'), false
	case r.Yielded && r.Status == Succeeded:
		rec.Output = []byte("[]")
	case r.Output != nil:
		rec.Output, rec.Tensors = r.Output, r.Tensors
		// Webhooks send a returned output too.
		if r.Status == Succeeded && len(p.events.observers) > 0 && string(r.Output) != "null" {
			p.emit(Event{Kind: EventOutput, Index: 0, Data: r.Output})
		}
	}
}

// Input returns the input as its client sent it.
func (p *Prediction) Input() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Request.Input
}
