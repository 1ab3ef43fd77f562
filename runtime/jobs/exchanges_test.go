package jobs

import (
	"fmt"
	"testing"
)

// What a job costs is its exchanges with NATS.

// seen counts the messages of a subject. Its result is what has been sent by now.
func (r *rig) seen(subject string) func() int {
	r.t.Helper()
	sub, err := r.nc.SubscribeSync(subject)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = sub.Unsubscribe() })
	return func() int {
		if err := r.nc.Flush(); err != nil {
			r.t.Fatal(err)
		}
		n, _, err := sub.Pending()
		if err != nil {
			r.t.Fatal(err)
		}
		return n
	}
}

// TestAnIdleServerPullsOnceForAJob: where a pull waits for a class no job does, so it need not be asked for that class again.
func TestAnIdleServerPullsOnceForAJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	run := newRunner(1, succeed)
	r.serve(r.other("b"), run)
	pulls := r.seen("$JS.API.CONSUMER.MSG.NEXT." + r.names.jobs() + ".>")
	waits := func() bool {
		n := 0
		for _, class := range Classes {
			n += r.consumerInfo(consumer(class, 0)).NumWaiting
		}
		return n == len(Classes)
	}
	r.eventually("it waits at each class", waits)
	const jobs = 20
	before := pulls()
	for i := range jobs {
		id := fmt.Sprint("p", i)
		r.accept(id)
		r.eventually("it ran", func() bool { return run.count(id) == 1 })
		r.eventually("it waits at each class again", waits)
	}
	// Each pull that waits is renewed now and then.
	if n := pulls() - before; n > 2*jobs {
		t.Errorf("%d pulls for %d jobs", n, jobs)
	}
}
