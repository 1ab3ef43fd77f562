package batching

import (
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"

	"pinion/tests/await"
)

// silence answers none of the jobs of a batch.
func (p *program) silence() { p.send(framed(msgp.AppendMapHeader(nil, 0))) }

// TestRetryNeverGoesBack: a job that a worker has lost waits for another one, though that worker is idle.
func TestRetryNeverGoesBack(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	bad, other := r.worker(), r.worker()
	lost := r.submit("lost")
	bad.takeBodies("lost")
	busy := r.submit("busy")
	items := other.takeBodies("busy")
	bad.silence()
	await.Eventually(t, "the job is back", func() bool { return r.Load().Queued == 1 })
	next := r.submit("next")
	bad.echo(bad.takeBodies("next")) // and not the one that it has lost
	next.ends(200, "re: next")
	other.echo(items)
	busy.ends(200, "re: busy")
	other.echo(other.takeBodies("lost"))
	lost.ends(200, "re: lost")
}

// TestRetryEndsWithTheLastOther: nobody is left who could have it.
func TestRetryEndsWithTheLastOther(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	bad, other := r.worker(), r.worker()
	lost := r.submit("lost")
	bad.takeBodies("lost")
	busy := r.submit("busy")
	other.takeBodies("busy")
	bad.silence()
	await.Eventually(t, "the job is back", func() bool { return r.Load().Queued == 1 })
	other.conn.Close()
	lost.ends(502, "*")
	bad.echo(bad.takeBodies("busy")) // lost by the other one, not by this
	busy.ends(200, "re: busy")
}

// TestRetryAtItsTime: a job that waits for another worker has its time limit still, and counts as waiting.
func TestRetryAtItsTime(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: 200 * time.Millisecond})
	bad, other := r.worker(), r.worker()
	lost := r.submit("lost")
	bad.takeBodies("lost")
	r.submit("busy")
	other.takeBodies("busy")
	bad.silence()
	lost.ends(408, "Timeout!")
	await.Eventually(t, "nothing waits", func() bool { return r.Load().Queued == 0 })
}

// TestSetAside: a worker that leaves its jobs unanswered again and again gets none, until its time is over.
func TestSetAside(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	bad := r.worker()
	other := r.worker()
	for range wrongMost {
		lost := r.submit("lost") // the bad one is idle for longer
		bad.takeBodies("lost")
		bad.silence()
		other.echo(other.takeBodies("lost"))
		lost.ends(200, "re: lost")
	}
	r.saw("a worker set aside", func(c counts) bool { return c.aside == 1 })
	first, second := r.submit("first"), r.submit("second")
	items := other.takeBodies("first")
	if l := r.Load(); l.Queued != 1 || len(l.PIDs) != 2 {
		t.Errorf("got %+v: the second job has no worker, and both workers are connected", l)
	}
	bad.echo(bad.takeBodies("second")) // its time is over
	second.ends(200, "re: second")
	other.echo(items)
	first.ends(200, "re: first")
	// A right answer clears it.
	lost := r.submit("lost again")
	bad.takeBodies("lost again")
	bad.silence()
	other.echo(other.takeBodies("lost again"))
	lost.ends(200, "*")
	if c := r.seen.counts(); c.aside != 1 {
		t.Errorf("it was set aside %d times", c.aside)
	}
}

// TestTheLastIsNotSetAside: there is nobody else to answer, be it ever so badly.
func TestTheLastIsNotSetAside(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	w := r.worker()
	for range 2 * wrongMost {
		p := r.submit("lost")
		w.takeBodies("lost")
		w.silence()
		p.ends(502, "*")
	}
	p := r.submit("a")
	w.echo(w.takeBodies("a"))
	p.ends(200, "re: a")
	if c := r.seen.counts(); c.aside != 0 {
		t.Errorf("it was set aside %d times", c.aside)
	}
}

// TestBackWithTheLast: when the last in service leaves, those that were set aside are back at once.
func TestBackWithTheLast(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	bad, other := r.worker(), r.worker()
	for range wrongMost {
		lost := r.submit("lost")
		bad.takeBodies("lost")
		bad.silence()
		other.echo(other.takeBodies("lost"))
		lost.ends(200, "re: lost")
	}
	r.saw("a worker set aside", func(c counts) bool { return c.aside == 1 })
	other.conn.Close()
	p := r.submit("a")
	bad.echo(bad.takeBodies("a"))
	p.ends(200, "re: a")
}

// TestAReconnectChangesNothing: a process that breaks the protocol each time it connects is set aside as well.
func TestAReconnectChangesNothing(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	other := r.worker()
	for range wrongMost {
		held := r.submit("held")
		items := other.takeBodies("held")
		bad := r.worker()
		lost := r.submit("lost")
		bad.takeBodies("lost")
		bad.send(framed([]byte("rubbish")))
		bad.dismissed()
		other.echo(items)
		held.ends(200, "re: held")
		other.echo(other.takeBodies("lost"))
		lost.ends(200, "re: lost")
	}
	r.worker()
	r.saw("its process set aside", func(c counts) bool { return c.aside == 1 })
}
