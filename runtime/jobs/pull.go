package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// puller gets jobs from the consumers of all classes and lanes.
type puller struct {
	consumers []jetstream.Consumer // the most urgent class first
	lanes     int
	turn      int
	found     chan jetstream.Msg // from long pulls
	stop      context.CancelFunc
	pulls     sync.WaitGroup

	mu     sync.Mutex
	wanted *sync.Cond // waits changed
	waits  bool       // next waits for a job
	closed bool
}

// pullWait is how long one pull waits at JetStream.
const pullWait = 5 * time.Second

// newPuller begins with one long pull for each consumer. They rest while next is not called.
func newPuller(ctx context.Context, q *Queue) (*puller, error) {
	o := q.o
	var err error
	if o.Lanes, err = lanesOf(ctx, q.js, o.Model); err != nil { // this member may hash its tenants to fewer
		return nil, err
	}
	p := &puller{lanes: o.Lanes, found: make(chan jetstream.Msg)}
	p.wanted = sync.NewCond(&p.mu)
	for _, c := range o.consumers() {
		consumer, err := q.js.Consumer(ctx, q.names.jobs(), c.Durable)
		if err != nil {
			return nil, fmt.Errorf("find the consumer %s: %w", c.Durable, err)
		}
		p.consumers = append(p.consumers, consumer)
	}
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, c := range p.consumers {
		p.pulls.Add(1)
		go func() {
			defer p.pulls.Done()
			p.pull(ctx, c)
		}()
	}
	return p, nil
}

// mostAtOnce is how many jobs one pull gets: more would wait for the first of them to be claimed.
const mostAtOnce = 32

// next returns jobs, at most as many as there are places; none when ctx ends. Jobs that wait are taken in the order of the classes,
// except that of eight turns one begins with the lowest and one with the middle class: so that no class starves.
func (p *puller) next(ctx context.Context, places int) (found []jetstream.Msg) {
	p.turn++
	first := 0
	switch p.turn % 8 {
	case 3:
		first = 2 * p.lanes
	case 6:
		first = p.lanes
	}
	places = min(places, mostAtOnce)
	for i := range p.consumers {
		// The lanes of a class take turns.
		at := (first + i) % len(p.consumers)
		class, lane := at/p.lanes, (at+p.turn)%p.lanes
		found = append(found, fetch(p.consumers[class*p.lanes+lane], places-len(found))...)
		if len(found) == places {
			return found
		}
	}
	if len(found) > 0 {
		return found
	}
	p.wait(true)
	defer p.wait(false)
	select {
	case m := <-p.found:
		return []jetstream.Msg{m}
	case <-ctx.Done():
		return nil
	}
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

// wait says whether a job is wanted.
func (p *puller) wait(waits bool) {
	p.mu.Lock()
	p.waits = waits
	p.mu.Unlock()
	p.wanted.Broadcast()
}

// pull keeps one long pull while a job is wanted. What it gets when none is wanted any more goes back at once, for another server:
// a pull that is given up could be answered all the same, and its job would wait for AckWait.
func (p *puller) pull(ctx context.Context, c jetstream.Consumer) {
	for p.isWanted() {
		limited, cancel := context.WithTimeout(ctx, pullWait)
		batch, err := c.Fetch(1, jetstream.FetchContext(limited))
		if err != nil {
			cancel()
			_ = pause(ctx, time.Second)
			continue
		}
		for m := range batch.Messages() {
			select {
			case p.found <- m:
			default:
				_ = m.Nak()
			}
		}
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

// close ends the pulls.
func (p *puller) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.wanted.Broadcast()
	p.stop()
	p.pulls.Wait()
}
