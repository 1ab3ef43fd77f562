package predict

import (
	"sync"
	"time"
)

// Request is what a client asks for, as httpd read it. All byte slices are the request's own:
// they stay valid for the life of the prediction.
type Request struct {
	ID      string // "" lets the service make one
	Input   []byte // a JSON object, strictly valid (package rawjson)
	Context []byte // a JSON object of strings, or nil
	// Created is the client's created_at where it gave one; zero: now.
	Created time.Time
}

// Record is the public state of a prediction at one moment.
type Record struct {
	ID        string
	Status    Status
	Output    []byte // JSON; nil while there is none
	Error     string
	Logs      []byte // as written by the model; may hold invalid UTF-8
	Metrics   []byte // a JSON object; nil while there is none
	Created   time.Time
	Started   time.Time // zero while not started
	Completed time.Time // zero while not ended
}

// Runner is what carries a prediction out; the service supplies it.
type Runner interface {
	// Run blocks until p has ended or was refused.
	Run(p *Prediction) error
	// Cancel asks for the end of p; it does not wait.
	Cancel(p *Prediction)
}

// Prediction is one prediction from acceptance to its last answer. Its record is guarded by its
// mutex; everything else is set before it is shared.
type Prediction struct {
	Request Request
	runner  Runner

	mu       sync.Mutex
	record   Record
	canceled bool     // a cancel was asked for
	release  []func() // what to give back with the last answer
}

// New makes a prediction in Starting. id must not be empty.
func New(id string, req Request, now time.Time, runner Runner) *Prediction {
	created := req.Created
	if created.IsZero() {
		created = now
	}
	return &Prediction{
		Request: req,
		runner:  runner,
		record:  Record{ID: id, Created: created},
	}
}

// ID is the prediction's id.
func (p *Prediction) ID() string { return p.record.ID } // never changes

// Wait carries the prediction out and returns when it has ended (nil) or was refused after all
// (ErrQueueTimeout, NotReadyError). Exactly one goroutine calls it, once: it is that goroutine
// that moves the bytes.
func (p *Prediction) Wait() error { return p.runner.Run(p) }

// Cancel asks for the prediction's end; Wait returns when it has come. Safe at any time, from any
// goroutine, any number of times.
func (p *Prediction) Cancel() {
	p.mu.Lock()
	first := !p.canceled && !p.record.Status.Terminal()
	p.canceled = true
	p.mu.Unlock()
	if first {
		p.runner.Cancel(p)
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
	return true
}

// Result is how a prediction ended.
type Result struct {
	Status  Status // Succeeded, Failed or Canceled
	Output  []byte
	Error   string
	Metrics []byte
	Logs    []byte
	// Elapsed is how long the model had it; it dates Started where Begin was not called.
	Elapsed time.Duration
}

// End moves the prediction to its end. Only the first call has an effect; it returns whether it was.
func (p *Prediction) End(r Result, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !r.Status.Terminal() || !p.record.Status.CanMove(r.Status) {
		return false
	}
	rec := &p.record
	rec.Status = r.Status
	rec.Output = r.Output
	rec.Error = r.Error
	rec.Metrics = r.Metrics
	rec.Logs = append(rec.Logs, r.Logs...)
	rec.Completed = now
	if rec.Started.IsZero() && r.Elapsed > 0 {
		rec.Started = now.Add(-r.Elapsed)
	}
	return true
}

// OnRelease registers what is given back by Release (a folder, a mapping), last in first out.
func (p *Prediction) OnRelease(f func()) {
	p.mu.Lock()
	p.release = append(p.release, f)
	p.mu.Unlock()
}

// Release gives back what the prediction held: call it after the last use of its Record.
func (p *Prediction) Release() {
	p.mu.Lock()
	fs := p.release
	p.release = nil
	p.mu.Unlock()
	for i := len(fs) - 1; i >= 0; i-- {
		fs[i]()
	}
}
