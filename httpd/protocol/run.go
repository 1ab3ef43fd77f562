package protocol

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// maxEvents is how many events of a stream are read at once.
const maxEvents = 64

// window is how many rows of one request are submitted at a time.
const window = 256

// Answer is the result of one prediction that succeeded. It is valid until Release.
type Answer struct {
	// Output is JSON; "null" where the model returned None. Of a stream: the list of the items.
	Output []byte
	// Tensors are arrays for which Output has placeholders (predict.AppendTensor), or nil.
	Tensors []predict.Tensor
	// File is the output if the call wants a file and the output is one; nil means Output has it.
	File *predict.OutputFile
	// Metrics is a JSON object: predict_time and what the model recorded.
	Metrics []byte
}

// Answers are the results of a call, in the order of its inputs.
type Answers struct {
	List   []Answer
	run    *Run
	single [1]Answer
}

// Release frees what the answers hold, unless they were sent. They are not read afterwards.
func (a *Answers) Release() { a.run.Release() }

// Run is the predictions of one call.
type Run struct {
	model  *Model
	ps     []*predict.Prediction
	single [1]*predict.Prediction
	stream bool
	rows   bool
	after  func() // frees what the rows shared; nil means nothing

	canceled atomic.Bool
	begun    int // how many of the predictions are run
	released bool
	woken    chan struct{} // of a stream; gets one token, which ends a wait for events, from Wake
	row      *rowStream    // of a stream: the row that is followed
	events   []predict.Event
	answers  Answers
}

// rowStream is the stream of one prediction. Rows follow one another: a row begins when the one before has ended.
type rowStream struct {
	p       *predict.Prediction
	sub     *predict.Subscription
	done    chan struct{} // closed when the prediction has ended
	refused error         // valid once done is closed
	skipped bool
	items   int // how many were returned
	missed  missedItems
}

// missedItems are items that a slow reader's subscription has dropped. The prediction's record has them.
type missedItems struct {
	reading bool
	from    rawjson.ArrayReader
	// The first known items end at offset end of the output.
	known, end int
}

// begin reads the output after the first n items.
func (m *missedItems) begin(output []byte, n int) {
	m.reading = true
	if m.known == 0 {
		m.from = rawjson.Array(output)
	} else {
		m.from = rawjson.ArrayAfter(output, m.end)
	}
	for ; m.known < n; m.known++ {
		if item, ok := m.from.Next(); ok {
			m.end = m.from.Offset() + len(item)
		}
	}
}

// next appends items to dst, up to its capacity.
func (m *missedItems) next(dst [][]byte) [][]byte {
	for len(dst) < cap(dst) {
		item, ok := m.from.Next()
		if !ok {
			m.reading, m.from = false, rawjson.ArrayReader{}
			break
		}
		dst = append(dst, item)
		m.known, m.end = m.known+1, m.from.Offset()+len(item)
	}
	return dst
}

// ID returns the id of the first prediction.
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

// Wait carries the predictions out and returns their answers, which the caller releases. After an error there is
// nothing to release but the run.
func (r *Run) Wait() (*Answers, *Error) {
	r.begun = len(r.ps)
	if len(r.ps) == 1 {
		if err := r.ps[0].Run(); err != nil {
			return nil, r.errorOf(0, err)
		}
		rec := r.ps[0].Record()
		if err := ended(&rec); err != nil {
			return nil, r.errorOf(0, err)
		}
		r.answers.run = r
		r.answers.single[0] = answerOf(r.ps[0], &rec)
		r.answers.List = r.answers.single[:]
		return &r.answers, nil
	}
	return r.waitRows()
}

// Finish carries the only prediction out, and returns its record, which is valid until Release.
func (r *Run) Finish() (predict.Record, *Error) {
	r.begun = 1
	if err := r.ps[0].Run(); err != nil {
		return predict.Record{}, r.errorOf(0, err)
	}
	return r.ps[0].Record(), nil
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
	if err := p.Run(); err != nil {
		return r.errorOf(i, err)
	}
	rec := p.Record()
	if err := ended(&rec); err != nil {
		return r.errorOf(i, err)
	}
	return nil
}

func answerOf(p *predict.Prediction, rec *predict.Record) Answer {
	a := Answer{Output: rec.Output, Tensors: rec.Tensors, File: p.File(), Metrics: rec.Metrics}
	if a.Output == nil {
		a.Output = []byte("null")
	}
	return a
}

// Follow starts the first prediction of a stream. Next returns its items, and starts the others.
func (r *Run) Follow() *Error {
	if r.woken == nil {
		r.woken = make(chan struct{}, 1)
	}
	p := r.ps[r.begun]
	sub, err := p.Subscribe() // before it runs, so that no item is missed
	if err != nil {
		return r.errorOf(r.begun, err)
	}
	row := &rowStream{p: p, sub: sub, done: make(chan struct{})}
	r.row = row
	r.begun++
	p.Hold()
	go func() {
		defer p.Release()
		defer r.Wake() // a prediction that is refused may emit no event
		defer close(row.done)
		defer func() {
			if v := recover(); v != nil {
				row.refused = Errorf(Internal, "Internal Server Error")
			}
		}()
		row.refused = p.Run()
	}()
	return nil
}

// Observe hands over the only prediction of a stream, and its events. After an error it has released the run.
func (r *Run) Observe() (*predict.Prediction, *predict.Subscription, *Error) {
	sub, err := r.ps[0].Subscribe() // before it runs, so that no event is missed
	if err != nil {
		r.Release()
		return nil, nil, r.errorOf(0, err)
	}
	r.released = true
	return r.ps[0], sub, nil
}

// ErrNextRow means that the items of a row have ended, and those of the next one follow.
var ErrNextRow = errors.New("the next row follows")

// Next appends the available items of a stream to dst, up to its capacity, and waits if there are none. dst must have
// room. Items are JSON, valid until Release. The error is ErrNextRow after the last item of a row, io.EOF after that of
// the last row, predict.ErrStopped after Wake, or an *Error.
func (r *Run) Next(dst [][]byte) ([][]byte, error) {
	if r.events == nil {
		r.events = make([]predict.Event, 0, maxEvents)
	}
	if r.row.sub == nil { // the row before has ended
		if err := r.Follow(); err != nil {
			return dst, err
		}
	}
	for {
		if r.row.missed.reading {
			before := len(dst)
			if dst = r.row.missed.next(dst); len(dst) > before {
				r.row.items += len(dst) - before
				return dst, nil
			}
		}
		events, err := r.row.sub.Next(r.events[:0:min(maxEvents, cap(dst)-len(dst))], r.woken)
		var missed *predict.MissedError
		switch {
		case errors.As(err, &missed) && !r.row.skipped:
			rec := r.row.sub.CatchUp()
			r.row.missed.begin(rec.Output, r.row.items)
			continue
		case errors.Is(err, predict.ErrStopped):
			select {
			case <-r.row.done:
				if r.row.refused != nil {
					return dst, r.errorOf(r.begun-1, r.row.refused)
				}
				continue // all events up to the end can be read now
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
				if !r.row.skipped {
					dst = append(dst, events[i].Data)
					r.row.items++
				}
			case predict.EventEnd:
				if len(dst) > before {
					return dst, nil // the next call returns the end
				}
				return dst, r.last()
			}
		}
		if len(dst) > before {
			return dst, nil
		}
	}
}

// Skip ends the row that is followed: its prediction is canceled, and Next returns no more items of it. It returns
// false if no other row follows.
func (r *Run) Skip() bool {
	r.row.skipped = true
	r.row.p.Cancel()
	return r.begun < len(r.ps)
}

// Settle waits until the prediction that is followed has ended.
func (r *Run) Settle() { <-r.row.done }

// Wake lets a waiting Next return. Safe from any goroutine.
func (r *Run) Wake() { r.Waker()() }

// Waker returns Wake for a timer. It keeps nothing of the run: Go's runtime may keep a stopped timer for long.
func (r *Run) Waker() func() {
	woken := r.woken
	return func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
}

// last returns how a row ended.
func (r *Run) last() error {
	<-r.row.done
	if r.row.refused != nil && !r.row.skipped {
		return r.errorOf(r.begun-1, r.row.refused)
	}
	rec := r.row.p.Record()
	if err := ended(&rec); err != nil && !r.row.skipped {
		return r.errorOf(r.begun-1, err)
	}
	if r.begun == len(r.ps) {
		return io.EOF
	}
	r.row.sub.Close()
	r.row.sub = nil
	return ErrNextRow
}

// Answer returns the whole answer of a stream of one row that has ended.
func (r *Run) Answer() Answer { return r.AnswerOf(0) }

// AnswerOf returns the whole answer of a row of a stream that has ended.
func (r *Run) AnswerOf(row int) Answer {
	rec := r.ps[row].Record()
	return answerOf(r.ps[row], &rec)
}

// Release ends the run: it cancels what still runs, and frees everything. It may be called more than once, and does
// nothing once an answer has taken the run over.
func (r *Run) Release() {
	if !r.released {
		r.released = true
		r.end()
	}
}

// take hands over what Release does, which then does nothing.
func (r *Run) take() memory.Owner {
	r.released = true
	return (*taken)(r)
}

// taken is a run that an answer has taken over.
type taken Run

// Release ends the run.
func (r *taken) Release() { (*Run)(r).end() }

func (r *Run) end() {
	if r.row != nil && r.row.sub != nil {
		r.row.sub.Close() // cancels a prediction that has not ended
	}
	for _, p := range r.ps[:r.begun] {
		p.Release()
	}
	r.ps = r.ps[r.begun:]
	r.abandon()
	if r.after != nil {
		r.after()
	}
}

// abandon ends predictions that were created and are not wanted: only a run gives their slots back.
func (r *Run) abandon() {
	for _, p := range r.ps {
		p.Cancel()
		_ = p.Run()
		p.Release()
	}
	r.ps = nil
}

func (r *Run) errorOf(row int, err error) *Error {
	e := *ErrorOf(err)
	if r.rows {
		e.Row = row
	}
	return &e
}
