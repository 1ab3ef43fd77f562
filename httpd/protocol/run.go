package protocol

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"pinion/runtime/predict"
)

// maxEvents is how many events of a stream are read at once.
const maxEvents = 256

// window is how many rows of one request are submitted at a time.
const window = 256

// Answer is the result of one prediction that succeeded. It is valid until Release.
type Answer struct {
	ID string
	// Output is JSON; "null" where the model returned None. Of a stream: the list of the items.
	Output []byte
	// File is the output, where the call wants one and the output is one; nil: Output has it.
	File *predict.OutputFile
	// Metrics is a JSON object: predict_time and what the model recorded.
	Metrics []byte
	// Warnings are about the input, for the client.
	Warnings []string
}

// Answers are the results of a call, in the order of its inputs.
type Answers struct {
	List []Answer
	run  *Run
	one  [1]Answer
}

// Release frees what the answers hold. They are not read afterwards.
func (a *Answers) Release() { a.run.Release() }

// Run is the predictions of one call.
type Run struct {
	model  *Model
	ps     []*predict.Prediction
	one    [1]*predict.Prediction
	stream bool
	rows   bool
	after  func() // frees what the rows shared; nil: nothing

	canceled atomic.Bool
	begun    bool // Wait or Follow was called
	released bool
	done     chan struct{} // of a stream: closed when its prediction has ended
	woken    chan struct{} // of a stream: one token: look at done, and let the caller look
	refused  error         // valid once done is closed
	sub      *predict.Subscription
	events   []predict.Event
	answers  Answers
}

// ID is the id of the first prediction.
func (r *Run) ID() string { return r.ps[0].ID() }

// Cancel asks for the end of all predictions. It does not wait. Safe from any goroutine until Release.
func (r *Run) Cancel() {
	if r.canceled.Swap(true) {
		return
	}
	for _, p := range r.ps {
		p.Cancel()
	}
}

// Wait carries the predictions out and returns their answers, which the caller releases. After an error there is nothing to
// release but the run.
func (r *Run) Wait() (*Answers, *Error) {
	r.begun = true
	if len(r.ps) == 1 {
		if err := r.ps[0].Wait(); err != nil {
			return nil, r.errorOf(0, err)
		}
		rec := r.ps[0].Record()
		if err := ended(&rec); err != nil {
			return nil, r.errorOf(0, err)
		}
		r.answers.run = r
		r.answers.one[0] = answerOf(r.ps[0], &rec)
		r.answers.List = r.answers.one[:]
		return &r.answers, nil
	}
	return r.waitRows()
}

// waitRows is Wait for several rows: a goroutine for each row that is submitted.
func (r *Run) waitRows() (*Answers, *Error) {
	n := len(r.ps)
	first := min(n, window)
	r.model.SubmitAll(r.ps[:first])
	errs := make([]*Error, n)
	var next atomic.Int64
	next.Store(int64(first))
	run := func(i int) {
		for ; i < n; i = int(next.Add(1)) - 1 {
			if errs[i] = r.waitRow(i); errs[i] != nil {
				r.Cancel()
			}
		}
	}
	var rows sync.WaitGroup
	for i := 1; i < first; i++ {
		rows.Go(func() { run(i) })
	}
	run(0)
	rows.Wait()
	var bad *Error
	for _, err := range errs {
		if err != nil && (bad == nil || bad.Canceled && !err.Canceled) {
			bad = err
		}
	}
	if bad != nil {
		return nil, bad
	}
	a := &Answers{List: make([]Answer, n), run: r}
	for i, p := range r.ps {
		rec := p.Record()
		a.List[i] = answerOf(p, &rec)
	}
	return a, nil
}

func (r *Run) waitRow(i int) (bad *Error) {
	p := r.ps[i]
	defer func() {
		if v := recover(); v != nil {
			bad = &Error{Kind: Internal, Message: "Internal Server Error", Row: i}
		}
	}()
	if err := p.Wait(); err != nil {
		return r.errorOf(i, err)
	}
	rec := p.Record()
	if err := ended(&rec); err != nil {
		return r.errorOf(i, err)
	}
	return nil
}

func answerOf(p *predict.Prediction, rec *predict.Record) Answer {
	a := Answer{ID: rec.ID, Output: rec.Output, File: p.File(), Metrics: rec.Metrics, Warnings: p.Warnings}
	if a.Output == nil {
		a.Output = []byte("null")
	}
	return a
}

// Follow starts the prediction of a stream. Next returns its items.
func (r *Run) Follow() *Error {
	r.begun = true
	p := r.ps[0]
	sub, err := p.Subscribe() // before it runs, so that no item is missed
	if err != nil {
		r.begun = false // Release ends it
		return r.errorOf(0, err)
	}
	r.sub = sub
	r.done, r.woken = make(chan struct{}), make(chan struct{}, 1)
	p.Hold()
	go func() {
		defer p.Release()
		defer r.Wake() // a prediction that is refused may emit no event
		defer close(r.done)
		defer func() {
			if v := recover(); v != nil {
				r.refused = Errorf(Internal, "Internal Server Error")
			}
		}()
		r.refused = p.Wait()
	}()
	return nil
}

// Next appends the items of a stream that are there to dst, up to its capacity, and waits where there are none. dst must have
// room. Items are JSON, valid until Release. The error is io.EOF after the last item, predict.ErrStopped after Wake, or an
// *Error.
func (r *Run) Next(dst [][]byte) ([][]byte, error) {
	if r.events == nil {
		r.events = make([]predict.Event, 0, maxEvents)
	}
	for {
		events, err := r.sub.Next(r.events[:0:min(maxEvents, cap(dst)-len(dst))], r.woken)
		var missed *predict.MissedError
		switch {
		case errors.As(err, &missed):
			return dst, Errorf(Failed, "the client read too slowly: %d items were dropped", missed.Skipped)
		case errors.Is(err, predict.ErrStopped):
			select {
			case <-r.done:
				if r.refused != nil {
					return dst, r.errorOf(0, r.refused)
				}
				continue // the events up to the end are there
			default:
				return dst, err
			}
		case err != nil:
			return dst, r.last()
		}
		before := len(dst)
		for i := range events {
			switch events[i].Kind {
			case predict.EventOutput:
				dst = append(dst, events[i].Data)
			case predict.EventEnd:
				if len(dst) > before {
					return dst, nil // the end comes again
				}
				return dst, r.last()
			}
		}
		if len(dst) > before {
			return dst, nil
		}
	}
}

// Wake lets a waiting Next return. Safe from any goroutine.
func (r *Run) Wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// last is how a stream ended.
func (r *Run) last() error {
	<-r.done
	if r.refused != nil {
		return r.errorOf(0, r.refused)
	}
	rec := r.ps[0].Record()
	if err := ended(&rec); err != nil {
		return r.errorOf(0, err)
	}
	return io.EOF
}

// Answer is the whole answer of a stream that has ended.
func (r *Run) Answer() Answer {
	rec := r.ps[0].Record()
	return answerOf(r.ps[0], &rec)
}

// Release ends the run: it cancels what still runs, and frees everything. It may be called more than once.
func (r *Run) Release() {
	if r.released {
		return
	}
	r.released = true
	if r.sub != nil {
		r.sub.Close() // cancels a prediction that has not ended
	}
	if !r.begun {
		r.abandon()
	} else {
		for _, p := range r.ps {
			p.Release()
		}
	}
	if r.after != nil {
		r.after()
	}
}

// abandon ends predictions that were created and are not wanted: only a run gives their slots back.
func (r *Run) abandon() {
	for _, p := range r.ps {
		p.Cancel()
		_ = p.Wait()
		p.Release()
	}
	r.ps = nil
}

// drop frees what a call that became no prediction, or several, took over.
func (r *Run) drop(c *Call) {
	if c.Attachments != nil {
		c.Attachments.Close()
	}
	c.Body.Release()
}

func (r *Run) errorOf(row int, err error) *Error {
	e := *ErrorOf(err)
	if r.rows {
		e.Row = row
	}
	return &e
}
