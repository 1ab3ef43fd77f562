package predict

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

const (
	// maxCalls is how many calls of a prediction are shown, with those that they made in turn.
	maxCalls = 100
	// callCost is about how many bytes a call takes.
	callCost = 512
	// maxCallError is how many bytes of its error are shown.
	maxCallError = 200
)

// Calls are the predictions of other models that a prediction asked for, in order.
type Calls struct {
	List    []CallState `json:"calls,omitempty"`
	Omitted int         `json:"calls_omitted,omitempty"` // that are not in the list
}

// CallState is a call at one moment.
type CallState struct {
	Model   string  `json:"model"`
	ID      string  `json:"id,omitempty"` // of its prediction; "" means it was refused
	Status  string  `json:"status"`       // that of its prediction, or refused
	Seconds float64 `json:"seconds"`      // since it began, or how long it took
	Error   string  `json:"error,omitempty"`
	Calls
}

// callRecord holds the calls of a prediction.
type callRecord struct {
	mu      sync.Mutex
	calls   []*Call
	size    int // of all, with the calls that their predictions made
	omitted int
}

// take makes room for n calls; false means there is none.
func (r *callRecord) take(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	fits := r.size+n <= maxCalls
	if fits {
		r.size += n
	}
	return fits
}

// Call is a call of another model by a prediction, or by those of a batch.
type Call struct {
	callers []*callRecord
	begun   time.Time

	mu    sync.Mutex
	of    *Prediction // nil unless it runs
	state CallState   // without what of knows
}

// BeginCall records a call that predictions make. The caller ends it.
func BeginCall(callers []*Prediction, model string, now time.Time) *Call {
	c := &Call{begun: now, state: CallState{Model: model, Status: Starting.String()}}
	for _, p := range callers {
		r := p.calls.Load()
		if r == nil {
			p.calls.CompareAndSwap(nil, &callRecord{})
			r = p.calls.Load()
		}
		fits := p.Charge(callCost) && r.take(1)
		r.mu.Lock()
		if fits {
			r.calls = append(r.calls, c)
		} else {
			r.omitted++
		}
		r.mu.Unlock()
		if fits {
			c.callers = append(c.callers, r)
		}
	}
	return c
}

// Accept names the prediction of the call. It is held until End.
func (c *Call) Accept(of *Prediction) {
	c.mu.Lock()
	c.of = of
	c.state.ID = of.ID()
	c.mu.Unlock()
}

// Refuse ends a call that got no prediction, or one that never ran.
func (c *Call) Refuse(reason string, now time.Time) {
	c.mu.Lock()
	c.of = nil
	c.state.Status, c.state.Error, c.state.Seconds = "refused", clipText(reason, maxCallError), now.Sub(c.begun).Seconds()
	c.mu.Unlock()
}

// End ends a call whose prediction has ended. The prediction is not read afterwards.
func (c *Call) End(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		return
	}
	left := maxCalls
	c.state = c.stateAt(now, &left)
	c.state.Calls = c.state.AtEnd()
	for _, r := range c.callers {
		if !r.take(maxCalls - left) {
			c.state.Calls = Calls{Omitted: maxCalls - left + c.state.Omitted}
			break
		}
	}
	c.of = nil
}

// stateAt returns the state of the call, with at most *left further calls. Called with the lock held.
func (c *Call) stateAt(now time.Time, left *int) CallState {
	s := c.state
	if c.of == nil {
		if s.Status == Starting.String() {
			s.Seconds = now.Sub(c.begun).Seconds()
		}
		s.Calls = s.first(left)
		return s
	}
	rec := c.of.Record()
	ended := now
	switch {
	case rec.Status.Terminal():
		s.Status, s.Error, ended = rec.Status.String(), clipText(rec.Error, maxCallError), rec.Completed
	case !c.of.waits(): // a plain prediction does not say when the model begins it
		s.Status = Processing.String()
	}
	s.Seconds = max(0, ended.Sub(c.begun)).Round(time.Microsecond).Seconds()
	s.Calls = c.of.callsNow(now, left)
	return s
}

// first returns the first calls, at most *left.
func (c Calls) first(left *int) Calls {
	out := Calls{Omitted: c.Omitted}
	for i, s := range c.List {
		if *left == 0 {
			out.Omitted += len(c.List) - i
			break
		}
		*left--
		s.Calls = s.first(left)
		out.List = append(out.List, s)
	}
	return out
}

// Calls returns the calls that the prediction has made.
func (p *Prediction) Calls(now time.Time) Calls {
	left := maxCalls
	return p.callsNow(now, &left)
}

func (p *Prediction) callsNow(now time.Time, left *int) (out Calls) {
	r := p.calls.Load()
	if r == nil {
		return out
	}
	r.mu.Lock()
	calls := slices.Clip(r.calls)
	out.Omitted = r.omitted
	r.mu.Unlock()
	for i, c := range calls {
		if *left == 0 {
			out.Omitted += len(calls) - i
			break
		}
		*left--
		c.mu.Lock()
		s := c.stateAt(now, left)
		c.mu.Unlock()
		out.List = append(out.List, s)
	}
	return out
}

// waiter is a Runner that knows whether the model has begun a prediction.
type waiter interface{ Waits() bool }

func (p *Prediction) waits() bool {
	w, ok := p.Runner().(waiter)
	return ok && w.Waits()
}

// AtEnd returns the calls of a prediction that has ended, as they stay: the end of their caller cancels those that
// still run.
func (c Calls) AtEnd() Calls {
	c.List = slices.Clone(c.List)
	for i := range c.List {
		s := &c.List[i]
		if s.Status == Starting.String() || s.Status == Processing.String() {
			s.Status = Canceled.String()
		}
		s.Calls = s.AtEnd()
	}
	return c
}

// AppendTo appends the calls, if there are any, to further members of a prediction's object.
func (c Calls) AppendTo(members []byte) []byte {
	if c.List == nil && c.Omitted == 0 {
		return members
	}
	text, err := json.Marshal(c)
	if err != nil {
		return members
	}
	return append(append(slices.Clip(members), ','), text[1:len(text)-1]...)
}

// CallsSize returns how many bytes the calls take.
func (p *Prediction) CallsSize() int {
	r := p.calls.Load()
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return callCost * r.size
}
