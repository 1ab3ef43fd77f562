package slot

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/await"
)

// TestSpinsForLoneShortCallsOnly: the leader keeps its core where calls come one by one and are short, and nowhere else.
func TestSpinsForLoneShortCallsOnly(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10, Spin: Spin{Front: true}})
	w := newWorker(t, p, 1)
	l := w.lines[0]
	serial := 0
	begin := func() (*flight, request) {
		serial++
		f := start(t, p, fmt.Sprint(serial))
		return f, l.begin()
	}
	carryOut := func(n int, took time.Duration) {
		for range n {
			f, r := begin()
			l.answer(ipc.KindSucceeded, r.id, took, string(r.body))
			f.succeeded()
		}
	}
	// patience of the next call, alone or with a second one.
	patience := func(with int) time.Duration {
		var fs []*flight
		var rs []request
		for range 1 + with {
			f, r := begin()
			fs, rs = append(fs, f), append(rs, r)
		}
		defer func() {
			for i, r := range rs {
				l.answer(ipc.KindSucceeded, r.id, time.Microsecond, string(r.body))
				fs[i].succeeded()
			}
		}()
		return locked(p, func() time.Duration {
			w.slots[0].spinRest = 0 // whatever the real one has come to
			return w.slots[0].patience()
		})
	}

	if got := patience(0); got != 0 {
		t.Errorf("the first call of all: %s", got)
	}
	carryOut(spinAfter, time.Microsecond)
	if got := patience(0); got != spinFor {
		t.Errorf("after %d lone ones: %s, want %s", spinAfter, got, spinFor)
	}
	if got := patience(1); got != 0 {
		t.Errorf("beside another: %s", got)
	}
	carryOut(spinAfter-2, time.Microsecond)
	if got := patience(0); got != 0 {
		t.Errorf("soon after there was another: %s", got)
	}
	carryOut(1, time.Microsecond)
	if got := patience(0); got != spinFor {
		t.Errorf("after %d lone ones again: %s, want %s", spinAfter, got, spinFor)
	}
	carryOut(100, 2*spinBelow)
	if got := patience(0); got != 0 {
		t.Errorf("the model takes %s: %s", 2*spinBelow, got)
	}
	carryOut(100, time.Microsecond)
	p.o.Spin.Front = false
	if got := patience(0); got != 0 {
		t.Errorf("no core for it: %s", got)
	}
	empty(t, p)
}

// TestSpinRests where an answer took longer than there was patience.
func TestSpinRests(t *testing.T) {
	s := &Slot{pool: &Pool{o: Options{Spin: Spin{Front: true}}, lone: spinAfter}, mean: time.Microsecond}
	s.spun(s.patience(), false)
	if got := s.patience(); got != spinFor {
		t.Fatalf("the answer came in time: %s, want %s", got, spinFor)
	}
	s.spun(spinFor, true)
	for i := range spinRest {
		got := s.patience()
		if got != 0 {
			t.Errorf("call %d after one that took longer: %s", i+1, got)
		}
		s.spun(got, true)
	}
	if got := s.patience(); got != spinFor {
		t.Errorf("after that: %s, want %s", got, spinFor)
	}
}

// TestALeaderThatSpins has the answers that come while it asks, and those that come later.
func TestALeaderThatSpins(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Spin: Spin{Front: true}})
	w := newWorker(t, p, 1)
	l := w.lines[0]
	for i := range 10 * spinAfter {
		f := start(t, p, fmt.Sprint(i))
		r := l.begin()
		if i%8 == 7 { // by then it does not ask any more
			leading(t, f)
			await.Eventually(t, "the leader waits", func() bool { return strings.Contains(await.Stacks(), "IO wait") })
		}
		l.answer(ipc.KindSucceeded, r.id, time.Microsecond, string(r.body))
		f.succeeded()
	}
	empty(t, p)
}

// TestStrain: from one look to the next.
func TestStrain(t *testing.T) {
	at := time.Now()
	last := strain{seen: at, stalled: time.Minute, looking: true, high: true}
	for _, c := range []struct {
		name            string
		passed, stalled time.Duration
		known, high     bool
	}{
		{"as much as there may be", time.Second, 750 * time.Millisecond, true, false},
		{"more", time.Second, 751 * time.Millisecond, true, true},
		{"of several CPUs", time.Second, 5 * time.Second, true, true},
		{"none", time.Second, 0, true, false},
		{"after a pause", 2 * time.Second, 2 * time.Second, true, false},
		{"unknown", time.Second, time.Second, false, false},
	} {
		now := at.Add(c.passed)
		got := last.next(now, last.stalled+c.stalled, c.known)
		if want := (strain{seen: now, stalled: last.stalled + c.stalled, high: c.high}); got != want {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
	if got := (strain{}).next(at, time.Hour, true); got.high {
		t.Error("the first look says something")
	}
}

// TestNobodySpinsUnderStrain: where others want the cores neither the worker nor the front keeps one busy, until they do
// not any more.
func TestNobodySpinsUnderStrain(t *testing.T) {
	await.NoLeak(t)
	var stalled, each atomic.Int64 // each look finds so much more
	pressure := func() (time.Duration, bool) { return time.Duration(stalled.Add(each.Load())), true }
	p := NewPool(Options{Spin: Spin{Front: true, Workers: true, Pressure: pressure}})
	w := newWorker(t, p, 1)
	l := w.lines[0]
	serial := 0
	carryOut := func() {
		serial++
		f := start(t, p, fmt.Sprint(serial))
		r := l.begin()
		l.answer(ipc.KindSucceeded, r.id, time.Microsecond, string(r.body))
		f.succeeded()
	}
	// expect has looks taken, as if a second had passed since the last, until both do as they should.
	expect := func(when string, worker, front time.Duration) {
		t.Helper()
		await.Eventually(t, fmt.Sprintf("%s, the worker may for %s and the front does for %s", when, worker, front), func() bool {
			locked(p, func() bool { p.strain.seen = time.Now().Add(-strainEvery); return true })
			carryOut()
			carryOut()
			got := locked(p, func() time.Duration {
				w.slots[0].spinRest = 0 // whatever the real one has come to
				return w.slots[0].patience()
			})
			return got == front && w.spin() == worker
		})
	}

	if got := w.spin(); got != 0 {
		t.Errorf("before anything came the worker may for %s", got)
	}
	for range 2 * spinAfter {
		carryOut()
	}
	expect("at first", spinWorker, spinFor)
	each.Store(int64(time.Hour))
	expect("under strain", 0, 0)
	each.Store(0)
	expect("when that is over", spinWorker, spinFor)
	locked(p, func() bool { p.o.Spin.Workers = false; return true })
	expect("without a core for the worker", 0, spinFor)
	empty(t, p)
}
