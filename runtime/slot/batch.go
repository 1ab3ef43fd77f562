package slot

import (
	"time"

	"pinion/runtime/batch"
)

// Batch says how the predictions of a model ride together.
type Batch struct {
	batch.Options
	// Prepare: the worker prepares each before it can ride. It goes there ahead of its ride, and stays.
	Prepare bool
	// Isolate: what rode with others in a worker that died runs once more, alone.
	Isolate bool
}

// places is how many calls a slot can have, the running ones and those that gather meanwhile.
func (b *Batch) places() int {
	if b == nil {
		return 1
	}
	return 2 * b.MaxSize
}

// A call that waits is in the queue always, and in the line as well where it may ride. The queue knows the order,
// the deadlines, and the calls that ride with nobody; the line knows who leaves together, and when. Where each is
// prepared by a worker first, there is a line for each slot, of those that are prepared; nobody waits in both.

// enter puts a call among those that wait. Called with the lock held.
func (p *Pool) enter(c *Call, front bool, now time.Time) {
	c.state = queued
	if front {
		p.queue.putBack(c)
	} else {
		p.queue.pushBack(c)
	}
	p.meter.begin(now)
	if p.line != nil && !c.Train {
		c.enterLine(p.line, front, p.moment(now))
	}
}

func (c *Call) enterLine(line *batch.Batcher[*Call], again bool, now time.Duration) {
	if c.line != line { // its number there was another line's
		c.line, c.item = line, batch.Item[*Call]{Deadline: c.item.Deadline}
	}
	c.item.Value, c.item.Key, c.item.Alone = c, c.Key, c.alone
	if again {
		line.PutBack(&c.item)
	} else {
		line.Add(&c.item, now)
	}
}

// unqueue takes a call out of those that wait. Called with the lock held.
func (p *Pool) unqueue(c *Call) {
	p.queue.remove(c)
	if p.line != nil {
		p.line.Remove(&c.item)
	}
	if p.queue.len == 0 {
		p.meter.pause(time.Now())
	}
}

// moment is a time as the lines have it.
func (p *Pool) moment(now time.Time) time.Duration { return now.Sub(p.origin) }

// useLine makes the line of a model whose calls ride as b says. Called with the lock held.
func (p *Pool) useLine(b *Batch, now time.Time) {
	if p.line != nil && p.lineOf == b.Options {
		return
	}
	p.line, p.lineOf = batch.New[*Call](b.Options), b.Options
	for c := p.queue.head; c != nil; c = c.next {
		if !c.Train {
			c.enterLine(p.line, false, p.moment(now))
		}
	}
}

// form sends off what can ride, for every slot whose calls do. Called with the lock held, whenever one of them may
// have become idle or something came, left or is due.
func (p *Pool) form(d deliveries) deliveries {
	if p.batched == 0 {
		return d
	}
	now := p.moment(time.Now())
	var ask time.Duration
	d = p.stage(d)
	for _, s := range p.slots {
		if s.line == nil || !s.vacant() {
			continue
		}
		var again time.Duration
		if p.riding, again = s.line.Take(now, 1, 1, p.riding[:0]); len(p.riding) > 0 {
			d = s.board(p.riding, d)
		} else if again > 0 && (ask == 0 || again < ask) {
			ask = again
		}
	}
	for p.line != nil {
		s, idle := p.idleRider()
		if s == nil {
			d = p.ahead(d)
			break
		}
		if p.stealRide(s, &d) { // it is older than what waits
			continue
		}
		if head := p.queue.head; head != nil && head.Train {
			p.unqueue(head)
			d = append(d, s.assign(head))
			continue
		}
		var again time.Duration
		if p.riding, again = p.line.Take(now, idle, p.batched, p.riding[:0]); len(p.riding) > 0 {
			d = s.board(p.riding, d)
			continue
		}
		if again > 0 && (ask == 0 || again < ask) {
			ask = again
		}
		break
	}
	p.clock.ring(ask, now)
	clear(p.riding)
	return d
}

// vacant tells whether the slot has neither a ride nor a call that runs by itself.
func (s *Slot) vacant() bool { return len(s.rides) == 0 && s.plain == 0 && !s.lost }

// idleRider is the slot for the next ride, of the worker that has least to do, and how many are idle.
func (p *Pool) idleRider() (best *Slot, idle int) {
	for _, s := range p.slots {
		if s.crew.batch == nil || s.line != nil || s.leaving || !s.vacant() {
			continue
		}
		idle++
		if best == nil || s.crew.busy < best.crew.busy {
			best = s
		}
	}
	return best, idle
}

// ahead gives slots that have one ride a second one, which will not grow any more. A call that rides with nobody, and
// is next, must find a slot at rest: nothing is laid before it.
func (p *Pool) ahead(d deliveries) deliveries {
	if head := p.queue.head; head == nil || head.Train {
		return d
	}
	for _, s := range p.slots {
		if s.crew.batch == nil || s.line != nil || s.leaving || s.lost || len(s.rides) != 1 || s.plain > 0 {
			continue
		}
		if p.riding = p.line.TakeAhead(p.riding[:0]); len(p.riding) == 0 {
			break
		}
		d = s.board(p.riding, d)
	}
	return d
}

// stealRide moves a ride that another slot has not begun to an idle one.
func (p *Pool) stealRide(to *Slot, d *deliveries) bool {
	for _, s := range p.slots {
		if s == to || s.line != nil || s.lost || len(s.rides) < 2 { // of a crew without batches it has none
			continue
		}
		r := s.rides[len(s.rides)-1]
		if r.live <= to.crew.batch.MaxSize && s.words.Revoke(r.id) {
			calls := s.unboard(r)
			items := p.riding[:0]
			for _, c := range calls {
				items = append(items, &c.item)
			}
			p.riding = items
			*d = to.board(items, *d)
			return true
		}
	}
	return false
}

// stage gives calls to the workers that are to prepare them, to each about two rides full.
func (p *Pool) stage(d deliveries) deliveries {
	for p.queue.head != nil {
		c := p.queue.head
		var best *Slot
		for _, s := range p.slots {
			if s.line == nil || s.lost || s.leaving || c.Train && !s.vacant() {
				continue
			}
			if c.suspect && s.crew.busy > 0 || s.crew.isolates() {
				continue
			}
			if s.count < s.crew.batch.places() && (best == nil || s.count < best.count) {
				best = s
			}
		}
		if best == nil {
			break
		}
		p.unqueue(c)
		if c.Train {
			d = append(d, best.assign(c))
		} else {
			d = best.take(c, d)
		}
	}
	return d
}

// isolates tells whether the worker has a call that is to have nobody beside it.
func (w *crew) isolates() bool {
	if w.busy != 1 {
		return false
	}
	for _, s := range w.slots {
		for _, c := range s.riders {
			if c != nil && c.suspect {
				return true
			}
		}
	}
	return false
}

// unstage takes back what a worker that can serve no more has prepared, or is to; but not the call of that id in that
// slot, which has its answer.
func (p *Pool) unstage(of *Slot, answered uint64) {
	p.mu.Lock()
	var back []*Call
	var d deliveries
	for _, s := range of.crew.slots {
		for id, c := range s.riders {
			if c == nil || c.ride != nil || s.lost || s == of && id == answered {
				continue
			}
			s.release(c)
			s.recall(c)
			d = s.drop(id, d)
			back = append(back, c)
		}
	}
	d = p.putBack(back, time.Now(), d)
	p.mu.Unlock()
	d.deliver()
}

// willBatch makes ready for a worker whose calls ride as b says. Called with the lock held.
func (p *Pool) willBatch(b *Batch) {
	switch {
	case b == nil && p.batched == 0:
		p.line = nil
		return
	case b == nil:
		return
	case !b.Prepare:
		p.useLine(b, time.Now())
	}
	if p.batched++; p.batched == 1 {
		// Without a clock, which wants a descriptor, a wait ends with the next arrival or answer.
		p.clock, _ = newClock(p.rung)
	}
}

// batchesNoMore is told that such a worker has left the pool.
func (p *Pool) batchesNoMore() {
	if p.batched--; p.batched == 0 {
		p.clock.stop()
		p.clock = nil
	}
}

// rung is called by the clock.
func (p *Pool) rung() {
	p.mu.Lock()
	if p.clock != nil {
		p.clock.set = 0
	}
	d := p.form(nil)
	p.mu.Unlock()
	d.deliver()
}
