package consume

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store/state"
)

// puller gets jobs from the consumers of all classes and lanes.
type puller struct {
	q            *Consumer
	version      string    // that the jobs name; "" means they name none
	sources      []*source // the most urgent class first
	lanes        int
	lanesFoundAt time.Time // when the lanes were counted
	Turn         int
	last         *source         // had no more than the job that next returned last; nil means any source may have more
	prefetched   jetstream.Msg   // a job that was pulled before a slot is free for it, or nil
	pulled       chan pulledMsg  // from long pulls
	pulling      context.Context // of the long pulls
	stop         context.CancelFunc
	pulls        sync.WaitGroup

	mu        sync.Mutex
	requested *sync.Cond // waits changed
	wantsJob  bool       // next waits for a job
	closed    bool
}

// source is a consumer.
type source struct {
	jetstream.Consumer

	empty atomic.Bool // a long pull waits there, so no job does
}

// pulledMsg is what a long pull got.
type pulledMsg struct {
	m    jetstream.Msg
	from *source
}

// pullWait is how long one pull waits at JetStream.
const pullWait = 5 * time.Second

// lanesInterval is how often the lanes are counted: an operator may have added some.
const lanesInterval = 10 * time.Second

// NewPuller begins with one long pull for each consumer. They are idle while next is not called.
func NewPuller(ctx context.Context, q *Consumer, version string) (*puller, error) {
	p := &puller{q: q, version: version, pulled: make(chan pulledMsg)}
	p.requested = sync.NewCond(&p.mu)
	p.pulling, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	find := p.findLanes
	if version != "" {
		find = p.makeVersion
	}
	if err := find(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// findLanes finds the consumers of all lanes, and begins the long pulls of new ones. This member may hash its tenants
// to fewer lanes.
func (p *puller) findLanes(ctx context.Context) error {
	p.lanesFoundAt = time.Now()
	o := p.q.s.Options
	info, err := p.q.s.JobsInfo(ctx)
	if err != nil {
		return err
	}
	if o.Lanes, err = state.LanesOf(ctx, p.q.s.Jobs, info); err != nil || o.Lanes == p.lanes {
		return err
	}
	var sources []*source
	for _, c := range o.Consumers() {
		consumer, err := p.q.s.JS.Consumer(ctx, p.q.s.Names.Jobs(), c.Durable)
		if err != nil {
			return fmt.Errorf("find the consumer %s: %w", c.Durable, err)
		}
		sources = append(sources, &source{Consumer: consumer})
	}
	for i, c := range sources {
		if class, lane := i/o.Lanes, i%o.Lanes; lane < p.lanes {
			sources[i] = p.sources[class*p.lanes+lane] // it is pulled from already
			continue
		}
		p.pulls.Go(func() { p.pull(p.pulling, c) })
	}
	p.sources, p.lanes = sources, o.Lanes
	return nil
}

// makeVersion makes the consumers of the version, where they are missing, and begins their long pulls.
func (p *puller) makeVersion(ctx context.Context) error {
	consumers, err := p.q.s.MakeVersionConsumers(ctx, p.version)
	if err != nil {
		return err
	}
	for _, consumer := range consumers {
		p.sources = append(p.sources, &source{Consumer: consumer})
	}
	p.lanes = 1
	for _, from := range p.sources {
		p.pulls.Go(func() { p.pull(p.pulling, from) })
	}
	return nil
}

// maxFetch is how many jobs one pull gets: more would wait for the first of them to be claimed.
const maxFetch = 32

// Next returns jobs, at most as many as slots are free; none if ctx ends or none has come for a while. Jobs that
// wait are taken in the order of the classes, except that of eight turns one begins with the lowest and one with the
// middle class: so that no class starves.
func (p *puller) Next(ctx context.Context, slots int) []jetstream.Msg {
	if p.version == "" && time.Since(p.lanesFoundAt) > lanesInterval {
		_ = p.findLanes(ctx) // else it tries again later
	}
	if m := p.prefetched; m != nil {
		p.prefetched = nil
		return []jetstream.Msg{m}
	}
	if !p.areEmpty() {
		if ready := p.fetchReady(min(slots, maxFetch)); len(ready) > 0 {
			return ready
		}
	}
	p.last = nil
	p.request()
	select {
	case pulled := <-p.pulled:
		return p.single(pulled)
	case <-time.After(lanesInterval): // the next call looks for lanes
	case <-ctx.Done():
	}
	if p.endRequest() { // so no pull does
		return nil
	}
	return p.single(<-p.pulled)
}

// single returns a job that came while none waited.
func (p *puller) single(pulled pulledMsg) []jetstream.Msg {
	if meta, err := pulled.m.Metadata(); err == nil && meta.NumPending == 0 {
		p.last = pulled.from
	}
	return []jetstream.Msg{pulled.m}
}

const (
	// prefetchBelow is the duration of predictions up to which a job is prefetched. The way of a job from the
	// queue would take a good part of that time, and the slot would be idle meanwhile.
	prefetchBelow = 50 * time.Millisecond
	// prefetchWait is how long that job waits for a slot.
	prefetchWait = 2 * prefetchBelow
)

// Prefetch pulls one job for the next slot that will be free.
func (p *puller) Prefetch() {
	if p.prefetched == nil && !p.areEmpty() {
		for _, m := range p.fetchReady(1) {
			p.prefetched = m
		}
	}
}

// releasePrefetched gives the prefetched job back.
func (p *puller) releasePrefetched() {
	_ = p.prefetched.Nak() // if it does not arrive, the job is delivered again after AckWait
	p.prefetched = nil
}

// areEmpty reports whether no job waited when next returned last, or came since.
func (p *puller) areEmpty() bool {
	return p.last != nil && !slices.ContainsFunc(p.sources, func(s *source) bool { return s != p.last && !s.empty.Load() })
}

// fetchReady returns up to n jobs that wait.
func (p *puller) fetchReady(n int) (msgs []jetstream.Msg) {
	p.Turn++
	first := 0
	switch p.Turn % 8 {
	case 3:
		first = 2 * p.lanes
	case 6:
		first = p.lanes
	}
	for i := range p.sources {
		// The lanes of a class take turns.
		at := (first + i) % len(p.sources)
		class, lane := at/p.lanes, (at+p.Turn)%p.lanes
		if from := p.sources[class*p.lanes+lane]; !from.empty.Load() {
			msgs = append(msgs, fetch(from, n-len(msgs))...)
		}
		if len(msgs) == n {
			break
		}
	}
	return msgs
}

// fetch returns up to n jobs that wait.
func fetch(c jetstream.Consumer, n int) (msgs []jetstream.Msg) {
	batch, err := c.FetchNoWait(n)
	if err != nil {
		return nil
	}
	for m := range batch.Messages() {
		msgs = append(msgs, m)
	}
	return msgs
}

// request asks the long pulls for a job.
func (p *puller) request() {
	p.mu.Lock()
	p.wantsJob = true
	p.mu.Unlock()
	p.requested.Broadcast()
}

// endRequest reports whether a job is wanted, and ends that request.
func (p *puller) endRequest() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := p.wantsJob
	p.wantsJob = false
	return wanted
}

// pull keeps one long pull while a job is wanted. A job that it gets when none is wanted any more goes back at once,
// for another server: a pull that is given up could be answered all the same, and its job would wait for AckWait.
func (p *puller) pull(ctx context.Context, from *source) {
	for p.awaitRequest() {
		limited, cancel := context.WithTimeout(ctx, pullWait)
		batch, err := from.Fetch(1, jetstream.FetchContext(limited))
		if err != nil {
			cancel()
			_ = state.Pause(ctx, time.Second)
			continue
		}
		from.empty.Store(true)
		for m := range batch.Messages() {
			wanted := p.endRequest()
			if !wanted {
				_ = m.Nak()
			}
			from.empty.Store(false)
			if wanted {
				p.pulled <- pulledMsg{m, from}
			}
		}
		from.empty.Store(false)
		cancel()
		if batch.Error() != nil { // NATS is unreachable, or the consumer is gone: do not spin
			_ = state.Pause(ctx, time.Second)
		}
	}
}

// awaitRequest waits until a job is wanted; false means the puller is closed.
func (p *puller) awaitRequest() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.wantsJob && !p.closed {
		p.requested.Wait()
	}
	return !p.closed
}

func (p *puller) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.requested.Broadcast()
	p.stop()
	p.pulls.Wait()
}
