package batch

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// randomOwner drives a Batcher at random and compares it with a simple model: the list of waiting items in order of
// arrival. Simulated time advances by random steps.
type randomOwner struct {
	b       *Batcher[int]
	o       Options
	now     time.Duration
	workers int
	running [][]*Item[int]           // one for each busy worker
	waiting []*Item[int]             // the model, in order of arrival
	ended   map[*Item[int]]int       // how often each left for good: in a batch, removed or expired
	refused map[string]time.Duration // when a key whose oldest item is the oldest of all was first refused
	wake    time.Duration            // when to ask again; 0 means no item is held
	next    int
}

func newRandomOwner(t *rapid.T) *randomOwner {
	o := Options{MaxSize: rapid.IntRange(1, 6).Draw(t, "max size")}
	if rapid.Bool().Draw(t, "fixed") {
		o.MaxWait = AtMost(time.Duration(rapid.IntRange(0, 20).Draw(t, "max wait, ms")) * ms)
	}
	return &randomOwner{
		b: New[int](o), o: o, workers: rapid.IntRange(1, 3).Draw(t, "workers"),
		ended: map[*Item[int]]int{}, refused: map[string]time.Duration{},
	}
}

// add adds a few items.
func (c *randomOwner) add(t *rapid.T) {
	for range rapid.IntRange(1, 4).Draw(t, "arrivals") {
		it := &Item[int]{Value: c.next, Key: rapid.SampledFrom([]string{"a", "a", "a", "b", "c"}).Draw(t, "key")}
		if rapid.IntRange(0, 4).Draw(t, "has deadline") == 0 {
			it.Deadline = c.now + time.Duration(rapid.IntRange(1, 30).Draw(t, "deadline, ms"))*ms
		}
		c.next++
		c.b.Add(it, c.now)
		c.waiting = append(c.waiting, it)
	}
	c.dispatch(t)
}

// advance advances the time: to the one that the batcher named, or another.
func (c *randomOwner) advance(t *rapid.T) {
	step := time.Duration(rapid.IntRange(1, 4000).Draw(t, "step, µs")) * us
	if c.wake > c.now && (step%2 == 0 || c.now+step > c.wake) {
		step = c.wake - c.now // the owner's timer is never late
	}
	c.now += step
	c.dispatch(t)
}

// end ends a batch.
func (c *randomOwner) end(t *rapid.T) {
	if batch := c.stop(t); batch != nil {
		for _, it := range batch {
			c.noteEnd(t, it)
		}
		c.b.Ended(c.now, len(batch), time.Duration(rapid.IntRange(1, 20).Draw(t, "took, ms"))*ms)
		c.dispatch(t)
	}
}

// loseWorker loses a worker. Items that it never saw go back; the others run once more, alone, or fail.
func (c *randomOwner) loseWorker(t *rapid.T) {
	batch := c.stop(t)
	if batch == nil {
		return
	}
	c.b.Ended(c.now, len(batch), -1)
	for _, it := range slices.Backward(batch) {
		seen := rapid.Bool().Draw(t, "seen")
		if seen && it.Alone {
			c.noteEnd(t, it)
			continue
		}
		it.Alone = it.Alone || seen
		c.b.PutBack(it)
		position := slices.IndexFunc(c.waiting, func(w *Item[int]) bool { return w.Value > it.Value })
		if position < 0 {
			position = len(c.waiting)
		}
		c.waiting = slices.Insert(c.waiting, position, it)
	}
	c.dispatch(t)
}

// stop takes the batch of a busy worker.
func (c *randomOwner) stop(t *rapid.T) []*Item[int] {
	if len(c.running) == 0 {
		return nil
	}
	i := rapid.IntRange(0, len(c.running)-1).Draw(t, "worker")
	batch := c.running[i]
	c.running = slices.Delete(c.running, i, i+1)
	return batch
}

// cancel removes an item that waits.
func (c *randomOwner) cancel(t *rapid.T) {
	if len(c.waiting) == 0 {
		return
	}
	i := rapid.IntRange(0, len(c.waiting)-1).Draw(t, "item")
	it := c.waiting[i]
	if !c.b.Remove(it) {
		t.Fatalf("%d waits and cannot be removed", it.Value)
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	c.noteEnd(t, it)
	c.dispatch(t)
}

func (c *randomOwner) noteEnd(t *rapid.T, it *Item[int]) {
	c.ended[it]++
	if c.ended[it] > 1 {
		t.Fatalf("%d left twice: got %d, want at most 1", it.Value, c.ended[it])
	}
	if c.b.Remove(it) {
		t.Fatalf("%d left and was still waiting", it.Value)
	}
}

// dispatch does what an owner does after each event.
func (c *randomOwner) dispatch(t *rapid.T) {
	for _, it := range c.b.Expire(c.now, nil) {
		if it.Deadline > c.now || it.Deadline == 0 {
			t.Fatalf("%d expired at %v, its deadline is %v, want at most %v and not 0", it.Value, c.now, it.Deadline, c.now)
		}
		c.forget(t, it)
		c.noteEnd(t, it)
	}
	for key := range c.refused {
		if !slices.ContainsFunc(c.waiting, func(w *Item[int]) bool { return w.Key == key && !w.Alone }) {
			delete(c.refused, key) // the next item of that key starts a new hold
		}
	}
	c.wake = 0
	for len(c.running) < c.workers {
		idle := c.workers - len(c.running)
		batch, again := c.b.Take(c.now, idle, c.workers, nil)
		if len(batch) == 0 {
			c.checkHeld(t, again)
			return
		}
		c.checkBatch(t, batch, idle)
	}
	if ahead := c.b.TakeAhead(nil); len(ahead) > 0 {
		if len(ahead) < c.o.MaxSize && !ahead[0].Alone {
			t.Fatalf("%d of %d lie ahead, want at least %d", len(ahead), c.o.MaxSize, c.o.MaxSize)
		}
		c.checkBatch(t, ahead, 1)
		c.running = c.running[:len(c.running)-1]
		for _, it := range ahead {
			c.noteEnd(t, it)
		}
	}
}

// forget removes an item from the model.
func (c *randomOwner) forget(t *rapid.T, it *Item[int]) {
	i := slices.Index(c.waiting, it)
	if i < 0 {
		t.Fatalf("%d came out and was not waiting: got %d, want at least 0", it.Value, i)
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
}

// checkHeld checks that an idle worker may get nothing.
func (c *randomOwner) checkHeld(t *rapid.T, again time.Duration) {
	if len(c.waiting) == 0 {
		if again != 0 {
			t.Fatalf("nothing waits, and Take is to be asked again at %v, want 0", again)
		}
		return
	}
	if again <= c.now {
		t.Fatalf("at %v Take is to be asked again at %v, want more than %v", c.now, again, c.now)
	}
	c.wake = again
	oldest := c.waiting[0]
	since, known := c.refused[oldest.Key]
	if !known {
		since = c.now
		c.refused[oldest.Key] = since
	}
	bound := adaptiveBound
	if c.o.MaxWait.fixed {
		bound = c.o.MaxWait.bound
	}
	if c.now >= since+bound {
		t.Fatalf("%d is held for %v, the bound is %v, want less than %v", oldest.Value, c.now-since, bound, since+bound)
	}
}

// checkBatch checks a batch that a worker got.
func (c *randomOwner) checkBatch(t *rapid.T, batch []*Item[int], idle int) {
	first := batch[0]
	if !first.Alone {
		delete(c.refused, first.Key)
	}
	if len(batch) > c.o.MaxSize {
		t.Fatalf("a batch of %d, at most %d, want at most %d", len(batch), c.o.MaxSize, c.o.MaxSize)
	}
	// Of several idle workers each but the last may take a later key, while an older one is held.
	if oldest := c.waiting[0]; idle == 1 && oldest != first {
		t.Fatalf("%d leaves before %d, which is older, want %+v", first.Value, oldest.Value, first)
	}
	var sameKey []*Item[int] // in order
	for _, w := range c.waiting {
		if w.Key == first.Key && !w.Alone {
			sameKey = append(sameKey, w)
		}
	}
	switch {
	case first.Alone && len(batch) != 1:
		t.Fatalf("%d is to leave alone, and leaves with %d others: got %d, want 1", first.Value, len(batch)-1, len(batch))
	case !first.Alone && !slices.Equal(batch, sameKey[:min(len(batch), len(sameKey))]):
		t.Fatalf("%v leave, of %v, want %v", values(batch), values(sameKey), sameKey[:min(len(batch), len(sameKey))])
	}
	for _, it := range batch {
		c.forget(t, it)
	}
	c.running = append(c.running, batch)
}

// check holds at all times.
func (c *randomOwner) check(t *rapid.T) {
	if c.b.Len() != len(c.waiting) {
		t.Fatalf("%d wait, the model has %d, want %d", c.b.Len(), len(c.waiting), len(c.waiting))
	}
	var first time.Duration
	for _, it := range c.waiting {
		if d := it.Deadline; d > 0 && (first == 0 || d < first) {
			first = d
		}
	}
	if got := c.b.NextDeadline(); got != first {
		t.Fatalf("the first deadline is %v, the model's %v, want the same", got, first)
	}
	if len(c.waiting) > 0 && len(c.running) < c.workers && c.wake == 0 {
		t.Fatalf("something waits, a worker is idle, and no time to ask again is set: got %v, want anything but 0", c.wake)
	}
}

// drain ends everything and looks for what is missing.
func (c *randomOwner) drain(t *rapid.T) {
	for rounds := 0; len(c.waiting) > 0 || len(c.running) > 0; rounds++ {
		if rounds > 10*c.next+10 {
			t.Fatalf("%d still wait: got %d, want at most %d", len(c.waiting), rounds, 10*c.next+10)
		}
		switch {
		case len(c.running) > 0:
			c.end(t)
		default:
			c.now = max(c.now, c.wake)
			c.dispatch(t)
		}
	}
	if len(c.ended) != c.next {
		t.Fatalf("%d of %d left, want all", len(c.ended), c.next)
	}
	if len(c.b.groups) > 0 || len(c.b.byDeadline) > 0 || c.b.arrived.head != nil {
		t.Fatal("an empty batcher holds something, want nothing")
	}
}

func TestProperties_BatcherKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newRandomOwner(t)
		t.Repeat(map[string]func(*rapid.T){
			"add": c.add, "pass": c.advance, "pass on": c.advance, "end": c.end, "die": c.loseWorker, "cancel": c.cancel,
			"": c.check,
		})
		c.drain(t)
	})
}

// TestProperties_RareKeyIsNotStarved: while the queue of a popular key is always full, the only item of a rare one goes
// in its turn.
func TestProperties_RareKeyIsNotStarved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New[int](Options{MaxSize: 4})
		add(b, "popular", 0, make([]int, rapid.IntRange(0, 40).Draw(t, "ahead"))...)
		ahead := b.Len()
		rare := add(b, "rare", 0, 1)[0]
		var now time.Duration
		for batches := 0; rare.group != nil; {
			if batches > (ahead+3)/4 {
				t.Fatalf("%d batches, and only %d items were ahead, want at most %d", batches, ahead, (ahead+3)/4)
			}
			add(b, rapid.SampledFrom([]string{"popular", "common"}).Draw(t, "key"), now, make([]int, 8)...)
			batch, again := b.Take(now, 1, 1, nil)
			if len(batch) == 0 {
				now = again
				continue
			}
			batches++
			now += ms
			b.Ended(now, len(batch), ms)
		}
	})
}
