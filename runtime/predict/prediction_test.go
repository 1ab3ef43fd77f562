package predict

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/tests/assert"
)

var epoch = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// runner counts what it is asked for.
type runner struct {
	runs, cancels atomic.Int64
	err           error
}

func (r *runner) Run(*Prediction) error { r.runs.Add(1); return r.err }
func (r *runner) Cancel(*Prediction)    { r.cancels.Add(1) }
func (r *runner) Submit(*Prediction)    {}

func TestPrediction_New(t *testing.T) {
	p := New("a", &Request{Input: []byte("{}")}, epoch, &runner{}, Options{})
	if got := p.Record(); got.ID != "a" || p.ID() != "a" || got.Status != Starting || !got.Created.Equal(epoch) ||
		!got.Started.IsZero() || !got.Completed.IsZero() || got.Output != nil || got.Logs != nil {
		t.Errorf("got %+v, want a, %v, created %v and nothing else", got, Starting, epoch)
	}
	before := epoch.Add(-time.Hour)
	got := New("a", &Request{Created: before}, epoch, &runner{}, Options{}).Record().Created
	assert.True(t, got.Equal(before), "created at %s, want what the client says, %s", got, before)
}

// TestPrediction_EndOnlyOnce: many ends at once, and one has an effect, whole.
func TestPrediction_EndOnlyOnce(t *testing.T) {
	for range 200 {
		p := New("a", &Request{}, epoch, &runner{}, Options{})
		results := []Result{
			{Status: Succeeded, Output: []byte("1"), Logs: []byte("one")},
			{Status: Failed, Error: "two", Logs: []byte("two")},
			{Status: Canceled, Metrics: []byte("{}"), Logs: []byte("three")},
		}
		var won [3]bool
		var wg sync.WaitGroup
		for i, r := range results {
			wg.Go(func() { won[i] = p.End(r, epoch.Add(time.Duration(i))) })
		}
		wg.Wait()
		rec := p.Record()
		n := 0
		for i, r := range results {
			if !won[i] {
				continue
			}
			n++
			if rec.Status != r.Status || string(rec.Output) != string(r.Output) || rec.Error != r.Error ||
				string(rec.Metrics) != string(r.Metrics) || string(rec.Logs) != string(r.Logs) ||
				!rec.Completed.Equal(epoch.Add(time.Duration(i))) {
				t.Fatalf("end %d won, and the record is %+v, want all of it from that end, %+v", i, rec, r)
			}
		}
		assert.EqualNow(t, "ends with an effect", n, 1)
	}
}

func TestPrediction_EndMustBeEnd(t *testing.T) {
	p := New("a", &Request{}, epoch, &runner{}, Options{})
	for _, s := range []Status{Starting, Processing, statuses} {
		assert.True(t, !p.End(Result{Status: s}, epoch) && p.Record().Status == Starting,
			"%s ended it, want p.End(Result{Status: s}, epoch) false and Status %v", s, Starting)
	}
}

func TestPrediction_Begin(t *testing.T) {
	p := New("a", &Request{}, epoch, &runner{}, Options{})
	assert.True(t, p.Begin(epoch.Add(time.Second)) && !p.Begin(epoch),
		"it was not begun, or twice, want p.Begin(epoch.Add(time.Second)) true and p.Begin(epoch) false")
	assert.True(t, p.End(Result{Status: Succeeded, Elapsed: time.Hour}, epoch.Add(2*time.Second)),
		"it was not ended")
	if got := p.Record(); !got.Started.Equal(epoch.Add(time.Second)) || got.Status != Succeeded {
		t.Errorf("got %+v, want Started %v and Status %v", got, epoch.Add(time.Second), Succeeded)
	}
	assert.False(t, p.Begin(epoch), "it began after its end")
}

// TestPrediction_ElapsedDatesStart where Begin was not called: the worker reports how long it took.
func TestPrediction_ElapsedDatesStart(t *testing.T) {
	p := New("a", &Request{}, epoch, &runner{}, Options{})
	p.End(Result{Status: Failed, Elapsed: 3 * time.Second}, epoch.Add(10*time.Second))
	got := p.Record().Started
	assert.True(t, got.Equal(epoch.Add(7*time.Second)), "it started at %s, want %v", got, epoch.Add(7*time.Second))
	p = New("a", &Request{}, epoch, &runner{}, Options{})
	p.End(Result{Status: Canceled}, epoch)
	got = p.Record().Started
	assert.True(t, got.IsZero(), "it never began, and started at %s, want zero", got)
}

func TestPrediction_CancelReachesRunnerOnce(t *testing.T) {
	r := &runner{}
	p := New("a", &Request{}, epoch, r, Options{})
	assert.False(t, p.CancelAsked(), "CancelAsked before Cancel")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(p.Cancel)
	}
	wg.Wait()
	n := r.cancels.Load()
	assert.True(t, n == 1 && p.CancelAsked(), "the runner was asked %d times; asked: %v, want 1 and true", n, p.CancelAsked())

	ended := New("b", &Request{}, epoch, r, Options{})
	ended.End(Result{Status: Succeeded}, epoch)
	ended.Cancel()
	assert.Equal(t, "cancels after the end that reached the runner", r.cancels.Load(), 1)
}

func TestPrediction_WaitRuns(t *testing.T) {
	refused := errors.New("refused")
	r := &runner{err: refused}
	err := New("a", &Request{}, epoch, r, Options{}).Run()
	assert.True(t, errors.Is(err, refused) && r.runs.Load() == 1, "got %v after %d runs, want %v and 1", err, r.runs.Load(), refused)
}

func TestPrediction_Release(t *testing.T) {
	p := New("a", &Request{}, epoch, &runner{}, Options{})
	var order []int
	for i := range 3 {
		p.OnRelease(func() { order = append(order, i) })
	}
	p.Release()
	p.Release()
	assert.EqualSlices(t, "given back in the order", order, []int{2, 1, 0})
}

func TestPrediction_Errors(t *testing.T) {
	v := &ValidationError{Problems: []Problem{
		{Loc: []string{"body", "input", "s"}, Msg: "Field required", Type: TypeMissing},
		{Loc: []string{"body", "id"}, Msg: "too long", Type: TypeValue},
	}}
	assert.Equal(t, "error", v.Error(), "body.input.s: Field required; body.id: too long")
	assert.Equal(t, `(&NotReadyError{Reason: "why"}).Error()`, (&NotReadyError{Reason: "why"}).Error(), "why")
	assert.Equal(t, "the error", (&QueueFullError{RetryAfter: time.Second}).Error(), "The queue is full")
}
