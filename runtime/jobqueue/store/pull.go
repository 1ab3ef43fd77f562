package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// puller gets jobs from the consumers of all classes and lanes.
type puller struct {
	q       *Queue
	sources []*source // the most urgent class first
	lanes   int
	looked  time.Time // when the lanes were counted
	turn    int
	last    *source         // it had no more than the job that next returned last; nil: it may have, or all may
	ahead   jetstream.Msg   // a job that was pulled before a place is free for it; nil: none
	found   chan pulled     // from long pulls
	pulling context.Context // of the long pulls
	stop    context.CancelFunc
	pulls   sync.WaitGroup

	mu     sync.Mutex
	wanted *sync.Cond // waits changed
	waits  bool       // next waits for a job
	closed bool
}

// source is a consumer.
type source struct {
	jetstream.Consumer

	empty atomic.Bool // a long pull waits there, so no job does
}

// pulled is what a long pull got.
type pulled struct {
	m    jetstream.Msg
	from *source
}

// pullWait is how long one pull waits at JetStream.
const pullWait = 5 * time.Second

// lanesEvery is how often the lanes are counted: an operator may have added some.
const lanesEvery = 10 * time.Second

// newPuller begins with one long pull for each consumer. They rest while next is not called.
func newPuller(ctx context.Context, q *Queue) (*puller, error) {
	p := &puller{q: q, found: make(chan pulled)}
	p.wanted = sync.NewCond(&p.mu)
	p.pulling, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := p.look(ctx); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// look finds the consumers of all lanes, and begins the long pulls of new ones. This member may hash its tenants to
// fewer lanes.
func (p *puller) look(ctx context.Context) error {
	p.looked = time.Now()
	o := p.q.o
	info, err := p.q.jobsInfo(ctx)
	if err != nil {
		return err
	}
	if o.Lanes = lanesOf(info); o.Lanes == p.lanes {
		return nil
	}
	var all []*source
	for _, c := range o.consumers() {
		consumer, err := p.q.js.Consumer(ctx, p.q.names.jobs(), c.Durable)
		if err != nil {
			return fmt.Errorf("find the consumer %s: %w", c.Durable, err)
		}
		all = append(all, &source{Consumer: consumer})
	}
	for i, c := range all {
		if class, lane := i/o.Lanes, i%o.Lanes; lane < p.lanes {
			all[i] = p.sources[class*p.lanes+lane] // it is pulled from already
			continue
		}
		p.pulls.Go(func() { p.pull(p.pulling, c) })
	}
	p.sources, p.lanes = all, o.Lanes
	return nil
}

// mostAtOnce is how many jobs one pull gets: more would wait for the first of them to be claimed.
const mostAtOnce = 32

// next returns jobs, at most as many as there are places; none when ctx ends, or none has come for a while. Jobs that
// wait are taken in the order of the classes, except that of eight turns one begins with the lowest and one with the
// middle class: so that no class starves.
func (p *puller) next(ctx context.Context, places int) []jetstream.Msg {
	if time.Since(p.looked) > lanesEvery {
		_ = p.look(ctx) // else it looks again later
	}
	if m := p.ahead; m != nil {
		p.ahead = nil
		return []jetstream.Msg{m}
	}
	if !p.areEmpty() {
		if found := p.ready(min(places, mostAtOnce)); len(found) > 0 {
			return found
		}
	}
	p.last = nil
	p.want()
	select {
	case job := <-p.found:
		return p.only(job)
	case <-time.After(lanesEvery): // the next call looks for lanes
	case <-ctx.Done():
	}
	if p.take() { // so no pull does
		return nil
	}
	return p.only(<-p.found)
}

// only is what next returns of a job that came while none waited.
func (p *puller) only(job pulled) []jetstream.Msg {
	if meta, err := job.m.Metadata(); err == nil && meta.NumPending == 0 {
		p.last = job.from
	}
	return []jetstream.Msg{job.m}
}

const (
	// shortTime is how long predictions take at most for which a job is pulled ahead of a place. The way of a job from the
	// queue would take a good part of that time, and the place would be idle meanwhile.
	shortTime = 50 * time.Millisecond
	// aheadWait is how long that job waits for a place.
	aheadWait = 2 * shortTime
)

// lookAhead pulls one job that waits, for the next place that will be free.
func (p *puller) lookAhead() {
	if p.ahead == nil && !p.areEmpty() {
		for _, m := range p.ready(1) {
			p.ahead = m
		}
	}
}

// giveBack gives up the job that was pulled ahead.
func (p *puller) giveBack() {
	_ = p.ahead.Nak() // if it does not arrive, the job is delivered again after AckWait
	p.ahead = nil
}

// areEmpty reports whether no job waited when next returned last, or came since.
func (p *puller) areEmpty() bool {
	return p.last != nil && !slices.ContainsFunc(p.sources, func(s *source) bool { return s != p.last && !s.empty.Load() })
}

// ready returns up to n jobs that wait.
func (p *puller) ready(n int) (found []jetstream.Msg) {
	p.turn++
	first := 0
	switch p.turn % 8 {
	case 3:
		first = 2 * p.lanes
	case 6:
		first = p.lanes
	}
	for i := range p.sources {
		// The lanes of a class take turns.
		at := (first + i) % len(p.sources)
		class, lane := at/p.lanes, (at+p.turn)%p.lanes
		if from := p.sources[class*p.lanes+lane]; !from.empty.Load() {
			found = append(found, fetch(from, n-len(found))...)
		}
		if len(found) == n {
			break
		}
	}
	return found
}

// fetch returns up to n jobs that wait.
func fetch(c jetstream.Consumer, n int) (found []jetstream.Msg) {
	batch, err := c.FetchNoWait(n)
	if err != nil {
		return nil
	}
	for m := range batch.Messages() {
		found = append(found, m)
	}
	return found
}

// want says that a job is wanted.
func (p *puller) want() {
	p.mu.Lock()
	p.waits = true
	p.mu.Unlock()
	p.wanted.Broadcast()
}

// take reports whether a job is wanted. If so, no other is any more.
func (p *puller) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := p.waits
	p.waits = false
	return wanted
}

// pull keeps one long pull while a job is wanted. What it gets when none is wanted any more goes back at once, for
// another server: a pull that is given up could be answered all the same, and its job would wait for AckWait.
func (p *puller) pull(ctx context.Context, from *source) {
	for p.isWanted() {
		limited, cancel := context.WithTimeout(ctx, pullWait)
		batch, err := from.Fetch(1, jetstream.FetchContext(limited))
		if err != nil {
			cancel()
			_ = pause(ctx, time.Second)
			continue
		}
		from.empty.Store(true)
		for m := range batch.Messages() {
			taken := p.take()
			if !taken {
				_ = m.Nak()
			}
			from.empty.Store(false)
			if taken {
				p.found <- pulled{m, from}
			}
		}
		from.empty.Store(false)
		cancel()
	}
}

// isWanted waits until a job is wanted; false: the puller is closed.
func (p *puller) isWanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.waits && !p.closed {
		p.wanted.Wait()
	}
	return !p.closed
}

func (p *puller) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.wanted.Broadcast()
	p.stop()
	p.pulls.Wait()
}
