package predict

import (
	"strings"
	"testing"
	"time"

	"pinion/runtime/memory"
	"pinion/tests/assert"
)

// called returns a prediction that another one calls.
func called(by *Prediction) (*Prediction, *Call) {
	p := New("child", &Request{}, epoch, &runner{}, Options{})
	c := BeginCall([]*Prediction{by}, "m", epoch)
	c.Accept(p)
	return p, c
}

// count returns how many calls are listed, at any depth.
func (c Calls) count() (n int) {
	for _, s := range c.List {
		n += 1 + s.count()
	}
	return n
}

// omitted returns how many are not.
func (c Calls) omitted() int {
	n := c.Omitted
	for _, s := range c.List {
		n += s.omitted()
	}
	return n
}

// TestCalls_ShowTheTree, while calls run and after their end.
func TestCalls_ShowTheTree(t *testing.T) {
	parent := New("a", &Request{}, epoch, &runner{}, Options{})
	child, call := called(parent)
	grandchild, inner := called(child)
	at := epoch.Add(2 * time.Second)
	got := parent.Calls(at).List
	assert.TrueNow(t, len(got) == 1 && got[0].Status == "processing" && got[0].Seconds == 2 && len(got[0].List) == 1,
		"while it runs: got %+v, want len(got) 1, Status processing, Seconds 2 and len(List) 1", got)
	grandchild.End(Result{Status: Failed, Error: strings.Repeat("é", 200)}, epoch.Add(time.Second))
	inner.End(at)
	child.End(Result{Status: Succeeded}, at)
	call.End(at)
	got = parent.Calls(epoch.Add(time.Hour)).List
	assert.True(t, got[0].Status == "succeeded" && got[0].ID == "child" && got[0].Seconds == 2,
		"after its end: got %+v, want Status succeeded, ID child and Seconds 2", got)
	below := got[0].List[0]
	assert.Equal(t, "the call of the call: status", below.Status, "failed")
	assert.Equal(t, "the call of the call: seconds", below.Seconds, 1)
	assert.Equal(t, "the call of the call: error", below.Error, strings.Repeat("é", 100)+"…")
}

// TestCalls_AreBounded, at all depths together, and count what they omit.
func TestCalls_AreBounded(t *testing.T) {
	parent := New("a", &Request{}, epoch, &runner{}, Options{})
	for range 30 {
		child, call := called(parent)
		for range 7 {
			p, inner := called(child)
			p.End(Result{Status: Succeeded}, epoch)
			inner.End(epoch)
		}
		got := parent.Calls(epoch)
		assert.TrueNow(t, got.count() <= maxCalls, "got %d calls, want at most %d", got.count(), maxCalls)
		child.End(Result{Status: Succeeded}, epoch)
		call.End(epoch)
	}
	got := parent.Calls(epoch)
	assert.True(t, got.count() <= maxCalls && got.count()+got.omitted() == 30*8-7*got.Omitted,
		"got %d calls and %d omitted, want 240 without the calls of those omitted", got.count(), got.omitted())
	assert.Equal(t, "bytes of the calls", parent.CallsSize(), callCost*got.count())
}

// TestCalls_AreCharged: without room in the budget a call is counted, and not listed.
func TestCalls_AreCharged(t *testing.T) {
	budget := memory.New(16 << 20)
	parent := New("a", &Request{ID: "a"}, epoch, &runner{}, Options{Memory: budget})
	assert.TrueNow(t, parent.Reserve(), "got no room for the prediction, want room")
	for other := parent; other.Charge(1 << 20); {
		continue
	}
	called(parent)
	for range maxCalls {
		called(parent)
	}
	got := parent.Calls(epoch)
	assert.True(t, got.Omitted != 0, "got %d calls and none omitted, want some omitted", len(got.List))
}

// waitingRunner is the runner of a prediction that the model has not begun.
type waitingRunner struct {
	runner
	waits bool
}

func (r *waitingRunner) Waits() bool { return r.waits }

// TestCalls_OneThatWaitsIsStarting until the model begins it.
func TestCalls_OneThatWaitsIsStarting(t *testing.T) {
	parent := New("a", &Request{}, epoch, &runner{}, Options{})
	queue := &waitingRunner{waits: true}
	child := New("b", &Request{}, epoch, queue, Options{})
	BeginCall([]*Prediction{parent}, "m", epoch).Accept(child)
	status := func() string { return parent.Calls(epoch).List[0].Status }
	assert.Equal(t, "while it waits", status(), "starting")
	queue.waits = false
	assert.Equal(t, "while", status(), "processing")
	child.End(Result{Status: Failed}, epoch)
	queue.waits = true
	assert.Equal(t, "end", status(), "failed")
}

// TestCalls_AtEnd are not shown as running, and those of the prediction itself stay as they are.
func TestCalls_AtEnd(t *testing.T) {
	parent := New("a", &Request{}, epoch, &runner{}, Options{})
	child, _ := called(parent)
	called(child)
	done, _ := called(parent)
	done.End(Result{Status: Succeeded}, epoch)
	now := parent.Calls(epoch)
	got := now.AtEnd().List
	assert.True(t, got[0].Status == "canceled" && got[0].List[0].Status == "canceled" && got[1].Status == "succeeded",
		"got %+v, want canceled with a canceled call, and succeeded", got)
	grandparent := New("g", &Request{}, epoch, &runner{}, Options{})
	call := BeginCall([]*Prediction{grandparent}, "m", epoch)
	call.Accept(parent)
	parent.End(Result{Status: Canceled}, epoch)
	call.End(epoch) // before the call of its prediction
	assert.Equal(t, "grandparent.Calls(epoch).List[0].List[0].Status",
		grandparent.Calls(epoch).List[0].List[0].Status, "canceled")
	assert.Equal(t, "status of the first", now.List[0].Status, "processing")
}
