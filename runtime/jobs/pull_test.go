package jobs

import (
	"context"
	"fmt"
	"testing"
)

// deliveries is how often a claimed job was delivered.
func deliveries(t *testing.T, c *Claim) uint64 {
	meta, err := c.m.Metadata()
	if err != nil {
		t.Error(err)
		return 0
	}
	return meta.NumDelivered
}

// TestNothingIsPulledForABusyPlace: a pull that is open though no place is free would take a job from another server, and give it back.
func TestNothingIsPulledForABusyPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	end := make(chan struct{})
	r.serve(r.Queue, newRunner(1, func(ctx context.Context, c *Claim) (Status, []byte) {
		if n := deliveries(t, c); n != 1 {
			t.Errorf("%s was delivered %d times", c.Job.ID, n)
		}
		<-end
		return succeed(ctx, c)
	}))
	for i := range 20 { // none waits when the first of two comes
		first, second := fmt.Sprintf("p%d", 2*i), fmt.Sprintf("p%d", 2*i+1)
		r.accept(first)
		r.eventually(first+" runs", func() bool { return r.state(first).Status == Processing })
		r.accept(second)
		end <- struct{}{}
		end <- struct{}{}
		r.eventually(second+" succeeds", func() bool { return r.state(second).Status == Succeeded })
	}
}

// aheadRunner is a runner that may have one job more than it has places.
type aheadRunner struct {
	*runner

	jobs chan struct{}
}

func (r *aheadRunner) Free(ctx context.Context, ahead bool) (places int, ok bool) {
	if !ahead {
		return r.runner.Free(ctx, false)
	}
	select {
	case r.jobs <- struct{}{}:
		<-r.jobs
		return cap(r.places) - len(r.places), true
	case <-ctx.Done():
		return 0, false
	}
}

func (r *aheadRunner) Take(bool) bool {
	select {
	case r.jobs <- struct{}{}:
		return true
	default:
		return false
	}
}

func (r *aheadRunner) Return() { <-r.jobs }

// Run waits for a place.
func (r *aheadRunner) Run(ctx context.Context, c *Claim) (Status, []byte) {
	defer r.Return()
	r.places <- struct{}{}
	defer func() { <-r.places }()
	return r.run(ctx, c)
}

// TestAServerTakesOneJobAhead of its places: not two, and only what waits.
func TestAServerTakesOneJobAhead(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	began, end := make(chan *Claim, 10), make(chan struct{})
	run := &aheadRunner{newRunner(1, func(ctx context.Context, c *Claim) (Status, []byte) {
		began <- c
		<-end
		return succeed(ctx, c)
	}), make(chan struct{}, 2)}
	for i := range 4 {
		r.accept(fmt.Sprintf("p%d", i))
	}
	r.serve(r.Queue, run)
	for i := range 4 {
		if c := <-began; deliveries(t, c) != 1 {
			t.Errorf("%s was delivered %d times", c.Job.ID, deliveries(t, c))
		}
		taken := min(4, i+2)
		r.eventually(fmt.Sprintf("%d were taken", taken), func() bool { return r.taken(4) == taken })
		end <- struct{}{}
	}
	r.eventually("all have ended", func() bool { return r.messages(r.names.jobs()) == 0 })
}

// taken is how many of the first n jobs do not wait any more.
func (r *rig) taken(n int) (taken int) {
	for i := range n {
		if r.state(fmt.Sprintf("p%d", i)).Status != Starting {
			taken++
		}
	}
	return taken
}
