package slot

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

// testCall is a call whose goroutine waits for it.
type testCall struct {
	*Call
	t    testing.TB
	done chan struct{}
}

// newTestCall returns an admitted call that is not submitted.
func newTestCall(t testing.TB, p *Pool, name string) *testCall {
	t.Helper()
	assert.NoError(t, p.Admit(nil), name)
	return &testCall{NewCall(name, []byte(`{"name":"`+name+`"}`), nil), t, make(chan struct{})}
}

// wait starts the call's goroutine.
func (f *testCall) wait() {
	go func() {
		f.Wait()
		close(f.done)
	}()
}

// start admits and submits a call, and has a goroutine wait for it.
func start(t testing.TB, p *Pool, name string) *testCall {
	t.Helper()
	f := newTestCall(t, p, name)
	p.Submit(f.Call)
	f.wait()
	return f
}

// startNumbered starts n calls, whose names are their numbers.
func startNumbered(t testing.TB, p *Pool, n int) (calls []*testCall) {
	t.Helper()
	for i := range n {
		calls = append(calls, start(t, p, strconv.Itoa(i)))
	}
	return calls
}

// result waits for the call's end.
func (f *testCall) result() *Result {
	f.t.Helper()
	select {
	case <-f.done:
	case <-time.After(assert.Timeout):
		f.t.Fatalf("%s runs after %s, want its end\n%s", f.Name, assert.Timeout, assert.Stacks())
	}
	return &f.Result
}

// succeeded checks that the call's own answer came.
func (f *testCall) succeeded() {
	f.t.Helper()
	r := f.result()
	assert.NoError(f.t, r.Err)
	assert.Equal(f.t, f.Name+": r.Kind", r.Kind, ipc.KindSucceeded)
	assert.Equal(f.t, f.Name+": string(r.Body)", string(r.Body), string(body(f.Name)))
}

// serveOne has a worker succeed with its next request, which must be this call's.
func (f *testCall) serveOne(l *slotEnd) {
	f.t.Helper()
	r := l.begin()
	assert.TrueNow(f.t, isFor(r, f.Name), "slot %d got %s, want %s", l.index, r.body, f.Name)
	l.succeed(r)
	f.succeeded()
}

// failed checks that the call ended with an error.
func (f *testCall) failed(want error) {
	f.t.Helper()
	r := f.result()
	assert.True(f.t, errors.Is(r.Err, want) && r.Kind == 0, "%s: kind %d, error %v; want %v", f.Name, r.Kind, r.Err, want)
}

// body returns what a worker gets for the call of that name.
func body(name string) []byte { return []byte(`{"input":{"name":"` + name + `"}}`) }

func isFor(r request, name string) bool { return string(r.body) == string(body(name)) }

// locked runs f under the pool's lock.
func locked[T any](p *Pool, f func() T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f()
}

// parked waits until the calls' goroutines sleep or read.
func parked(t testing.TB, fs ...*testCall) {
	t.Helper()
	for _, f := range fs {
		assert.Eventually(t, f.Name+" waits", func() bool {
			return locked(f.pool, func() bool { return f.Call.waiter.parked || f.slot != nil && f.waiter.leads == f.slot.ch })
		})
	}
}

// leading waits until the call's goroutine is its slot's leader.
func leading(t testing.TB, f *testCall) {
	t.Helper()
	assert.Eventually(t, f.Name+" leads", func() bool {
		return locked(f.pool, func() bool { return f.slot != nil && f.slot.ch.leader == f.Call && !f.Call.waiter.parked })
	})
}

// testPool returns a pool for a test that leaves nothing open.
func testPool(t testing.TB, o Options) *Pool {
	t.Helper()
	assert.NoLeak(t)
	return NewPool(o)
}

// empty checks that nothing is left in a pool, and that every move of a call was legal.
func empty(t testing.TB, p *Pool) {
	t.Helper()
	assert.Equal(t, "forbidden moves", locked(p, func() int { return p.illegalMoves }), 0)
	if l := p.Load(); l.InFlight != 0 || l.Queued != 0 {
		t.Errorf("the pool still holds %d calls, %d of them in its queue, want 0 and 0", l.InFlight, l.Queued)
	}
}
