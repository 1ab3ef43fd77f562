package ventu

import (
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"

	"pinion/tests/assert"
)

// silence answers none of the jobs of a batch.
func (p *program) silence() { p.send(framed(msgp.AppendMapHeader(nil, 0))) }

// TestSuspension_RetryNeverGoesBack: a job that a worker did not answer waits for another one, though that worker is
// idle.
func TestSuspension_RetryNeverGoesBack(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	bad, other := r.worker(), r.worker()
	unanswered := r.submit("unanswered")
	bad.takeBodies("unanswered")
	busy := r.submit("busy")
	items := other.takeBodies("busy")
	bad.silence()
	assert.Eventually(t, "the job is back", func() bool { return r.Load().Queued == 1 })
	next := r.submit("next")
	bad.echo(bad.takeBodies("next")) // and not the one that it did not answer
	next.ends(200, "re: next")
	other.echo(items)
	busy.ends(200, "re: busy")
	other.echo(other.takeBodies("unanswered"))
	unanswered.ends(200, "re: unanswered")
}

// TestSuspension_RetryEndsWithLastOther: no other worker can take it.
func TestSuspension_RetryEndsWithLastOther(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	bad, other := r.worker(), r.worker()
	unanswered := r.submit("unanswered")
	bad.takeBodies("unanswered")
	busy := r.submit("busy")
	other.takeBodies("busy")
	bad.silence()
	assert.Eventually(t, "the job is back", func() bool { return r.Load().Queued == 1 })
	other.conn.Close()
	unanswered.ends(502, "*")
	bad.echo(bad.takeBodies("busy")) // unanswered by the other one, not by this
	busy.ends(200, "re: busy")
}

// TestSuspension_RetryAtItsTime: a job that waits for another worker has its time limit still, and counts as waiting.
func TestSuspension_RetryAtItsTime(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Second})
	bad, other := r.worker(), r.worker()
	unanswered := r.submit("unanswered")
	bad.takeBodies("unanswered")
	r.submit("busy")
	other.takeBodies("busy")
	bad.silence()
	unanswered.ends(408, "Timeout!")
	assert.Eventually(t, "nothing waits", func() bool { return r.Load().Queued == 0 })
}

// TestSuspension_AfterUnansweredJobs: a worker that leaves its jobs unanswered several times in a row gets none for a
// while.
func TestSuspension_AfterUnansweredJobs(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	bad := r.worker()
	other := r.worker()
	for range maxFaults {
		unanswered := r.submit("unanswered") // the bad one is idle for longer
		bad.takeBodies("unanswered")
		bad.silence()
		other.echo(other.takeBodies("unanswered"))
		unanswered.ends(200, "re: unanswered")
	}
	r.saw("a worker suspended", func(c counts) bool { return c.suspended == 1 })
	first, second := r.submit("first"), r.submit("second")
	items := other.takeBodies("first")
	if l := r.Load(); l.Queued != 1 || len(l.PIDs) != 2 {
		t.Errorf("got %+v: the second job has no worker, and both workers are connected, want Queued 1 and len(PIDs) 2", l)
	}
	bad.echo(bad.takeBodies("second")) // its time is over
	second.ends(200, "re: second")
	other.echo(items)
	first.ends(200, "re: first")
	// A right answer clears it.
	unanswered := r.submit("unanswered again")
	bad.takeBodies("unanswered again")
	bad.silence()
	other.echo(other.takeBodies("unanswered again"))
	unanswered.ends(200, "*")
	assert.Equal(t, "suspensions", r.seen.counts().suspended, 1)
}

// TestSuspension_LastIsNotSuspended: there is no other worker.
func TestSuspension_LastIsNotSuspended(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	w := r.worker()
	for range 2 * maxFaults {
		p := r.submit("unanswered")
		w.takeBodies("unanswered")
		w.silence()
		p.ends(502, "*")
	}
	p := r.submit("a")
	w.echo(w.takeBodies("a"))
	p.ends(200, "re: a")
	assert.Equal(t, "suspensions", r.seen.counts().suspended, 0)
}

// TestSuspension_BackWithLast: when the last in service leaves, those that were suspended are back at once.
func TestSuspension_BackWithLast(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	bad, other := r.worker(), r.worker()
	for range maxFaults {
		unanswered := r.submit("unanswered")
		bad.takeBodies("unanswered")
		bad.silence()
		other.echo(other.takeBodies("unanswered"))
		unanswered.ends(200, "re: unanswered")
	}
	r.saw("a worker suspended", func(c counts) bool { return c.suspended == 1 })
	other.conn.Close()
	p := r.submit("a")
	bad.echo(bad.takeBodies("a"))
	p.ends(200, "re: a")
}

// TestSuspension_ReconnectChangesNothing: a process that breaks the protocol each time it connects is suspended as
// well.
func TestSuspension_ReconnectChangesNothing(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	other := r.worker()
	for range maxFaults {
		waiting := r.submit("waiting")
		items := other.takeBodies("waiting")
		bad := r.worker()
		unanswered := r.submit("unanswered")
		bad.takeBodies("unanswered")
		bad.send(framed([]byte("rubbish")))
		bad.disconnected()
		other.echo(items)
		waiting.ends(200, "re: waiting")
		other.echo(other.takeBodies("unanswered"))
		unanswered.ends(200, "re: unanswered")
	}
	r.worker()
	r.saw("its process suspended", func(c counts) bool { return c.suspended == 1 })
}
