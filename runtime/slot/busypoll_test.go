package slot

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

// TestBusypoll_PollsOnlyForSingleShortCalls: the leader polls while short calls come one by one, and otherwise not.
func TestBusypoll_PollsOnlyForSingleShortCalls(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10, BusyPoll: BusyPoll{Front: true}}, 1)
	l := w.ends[0]
	serial := 0
	begin := func() (*testCall, request) {
		serial++
		f := start(t, p, fmt.Sprint(serial))
		return f, l.begin()
	}
	runCalls := func(n int, took time.Duration) {
		for range n {
			f, r := begin()
			l.answer(ipc.KindSucceeded, r.id, took, string(r.body))
			f.succeeded()
		}
	}
	// budget is the leader's for the next call, with so many others in flight.
	budget := func(with int) time.Duration {
		var fs []*testCall
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
			w.slots[0].pollPause = 0 // earlier calls may have set it
			return w.slots[0].pollBudget()
		})
	}

	assert.Equal(t, "the first call of all", budget(0), 0)
	runCalls(pollAfter, time.Microsecond)
	assert.Equal(t, fmt.Sprintf("after %d single calls", pollAfter), budget(0), pollFor)
	assert.Equal(t, "beside another", budget(1), 0)
	runCalls(pollAfter-2, time.Microsecond)
	assert.Equal(t, "soon after another", budget(0), 0)
	runCalls(1, time.Microsecond)
	assert.Equal(t, fmt.Sprintf("after %d single calls again", pollAfter), budget(0), pollFor)
	runCalls(100, 2*pollBelow)
	assert.Equal(t, fmt.Sprintf("the model takes %s", 2*pollBelow), budget(0), 0)
	runCalls(100, time.Microsecond)
	p.o.BusyPoll.Front = false
	assert.Equal(t, "budget of no CPU", budget(0), 0)
	empty(t, p)
}

// TestBusypoll_PollPause: an answer that outlasts the budget pauses polling.
func TestBusypoll_PollPause(t *testing.T) {
	s := &Slot{
		pool:   &Pool{o: Options{BusyPoll: BusyPoll{Front: true}}, singles: pollAfter},
		window: window{mean: time.Microsecond},
	}
	s.polled(s.pollBudget(), false)
	assert.EqualNow(t, "the answer came in time", s.pollBudget(), pollFor)
	s.polled(pollFor, true)
	for i := range pollPauseCalls {
		got := s.pollBudget()
		assert.Equal(t, fmt.Sprintf("call %d one that took longer", i+1), got, 0)
		s.polled(got, true)
	}
	assert.Equal(t, "poll budget", s.pollBudget(), pollFor)
}

// TestBusypoll_PollingLeaderReadsAnswers that come while it polls, and those that come later.
func TestBusypoll_PollingLeaderReadsAnswers(t *testing.T) {
	p, w := poolWithWorker(t, Options{BusyPoll: BusyPoll{Front: true}}, 1)
	l := w.ends[0]
	for i := range 10 * pollAfter {
		f := start(t, p, fmt.Sprint(i))
		r := l.begin()
		if i%8 == 7 { // the budget is over
			leading(t, f)
			assert.Eventually(t, "the leader waits", func() bool { return strings.Contains(assert.Stacks(), "IO wait") })
		}
		l.answer(ipc.KindSucceeded, r.id, time.Microsecond, string(r.body))
		f.succeeded()
	}
	empty(t, p)
}

// TestBusypoll_CPUPressure: from one sample to the next.
func TestBusypoll_CPUPressure(t *testing.T) {
	at := time.Now()
	last := cpuPressure{sampled: at, waited: time.Minute, sampling: true, high: true}
	for _, c := range []struct {
		name           string
		passed, waited time.Duration
		known, high    bool
	}{
		{"as much as there may be", time.Second, 750 * time.Millisecond, true, false},
		{"more", time.Second, 751 * time.Millisecond, true, true},
		{"of several CPUs", time.Second, 5 * time.Second, true, true},
		{"none", time.Second, 0, true, false},
		{"after a pause", 2 * time.Second, 2 * time.Second, true, false},
		{"unknown", time.Second, time.Second, false, false},
	} {
		now := at.Add(c.passed)
		got := last.next(now, last.waited+c.waited, c.known)
		assert.Equal(t, c.name, got, cpuPressure{sampled: now, waited: last.waited + c.waited, high: c.high})
	}
	got := (cpuPressure{}).next(at, time.Hour, true)
	assert.False(t, got.high, "the first sample is high")
}

// TestBusypoll_NoPollingUnderCPUPressure: neither a worker nor the front polls under CPU pressure; both do again when
// it ends.
func TestBusypoll_NoPollingUnderCPUPressure(t *testing.T) {
	assert.NoLeak(t)
	var waited, each atomic.Int64 // each sample finds so much more
	pressure := func() (time.Duration, bool) { return time.Duration(waited.Add(each.Load())), true }
	p, w := poolWithWorker(t, Options{BusyPoll: BusyPoll{Front: true, Workers: true, Pressure: pressure}}, 1)
	l := w.ends[0]
	serial := 0
	runCall := func() {
		serial++
		f := start(t, p, fmt.Sprint(serial))
		r := l.begin()
		l.answer(ipc.KindSucceeded, r.id, time.Microsecond, string(r.body))
		f.succeeded()
	}
	// expect has samples taken, as if a second had passed since the last, until both sides behave as they should.
	expect := func(when string, worker, front time.Duration) {
		t.Helper()
		assert.Eventually(t, fmt.Sprintf("%s: the worker may poll for %s, and the front polls for %s", when, worker, front),
			func() bool {
				locked(p, func() bool { p.cpuPressure.sampled = time.Now().Add(-pressureInterval); return true })
				runCall()
				runCall()
				got := locked(p, func() time.Duration {
					w.slots[0].pollPause = 0 // earlier calls may have set it
					return w.slots[0].pollBudget()
				})
				return got == front && w.busyPoll() == worker
			})
	}

	assert.Equal(t, "busy poll", w.busyPoll(), 0)
	for range 2 * pollAfter {
		runCall()
	}
	expect("at first", workerPollFor, pollFor)
	each.Store(int64(time.Hour))
	expect("under pressure", 0, 0)
	each.Store(0)
	expect("when that is over", workerPollFor, pollFor)
	locked(p, func() bool { p.o.BusyPoll.Workers = false; return true })
	expect("without a core for the worker", 0, pollFor)
	empty(t, p)
}
