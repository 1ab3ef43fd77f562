package batch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pinion/tests/assert"
)

func values(batch []*Item[int]) []int {
	var list []int
	for _, it := range batch {
		list = append(list, it.Value)
	}
	return list
}

// add adds items with these values and one key, all at one time.
func add(b *Batcher[int], key string, now time.Duration, values ...int) []*Item[int] {
	var items []*Item[int]
	for _, v := range values {
		it := &Item[int]{Value: v, Key: key}
		b.Add(it, now)
		items = append(items, it)
	}
	return items
}

// want takes for one idle worker and compares.
func want(t *testing.T, b *Batcher[int], now time.Duration, expected ...int) []*Item[int] {
	t.Helper()
	batch, _ := b.Take(now, 1, 1, nil)
	got := values(batch)
	assert.TrueNow(t, slices.Equal(got, expected), "took %v, want %v", got, expected)
	return batch
}

func TestBatcher_SingleItemLeavesAtOnce(t *testing.T) {
	b := New[int](Options{MaxSize: 8})
	add(b, "", 0, 1)
	want(t, b, 0, 1)
	want(t, b, 0)
	assert.Equal(t, "wait", b.Len(), 0)
}

func TestBatcher_WhatGatheredLeavesTogether(t *testing.T) {
	b := New[int](Options{MaxSize: 4})
	add(b, "", 0, 1, 2, 3, 4, 5, 6)
	want(t, b, ms, 1, 2, 3, 4)
	want(t, b, ms, 5, 6)
}

func TestBatcher_KeysDoNotMixAndOldestGoesFirst(t *testing.T) {
	b := New[int](Options{MaxSize: 4})
	add(b, "rare", 0, 1)
	add(b, "popular", 0, 2, 3, 4, 5)
	add(b, "rare", 0, 6)
	add(b, "popular", 0, 7)
	want(t, b, ms, 1, 6)
	want(t, b, ms, 2, 3, 4, 5)
	want(t, b, ms, 7)
}

func TestBatcher_Removed(t *testing.T) {
	b := New[int](Options{MaxSize: 4})
	items := add(b, "", 0, 1, 2, 3)
	assert.True(t, b.Remove(items[0]) && b.Remove(items[2]) && !b.Remove(items[2]),
		"Remove says the wrong thing, want b.Remove(items[0]) true and b.Remove(items[2]) true, then false")
	want(t, b, ms, 2)
	assert.False(t, b.Remove(items[1]), "one that left was removed")
}

func TestBatcher_Expired(t *testing.T) {
	b := New[int](Options{MaxSize: 4})
	for i, deadline := range []time.Duration{0, 30, 10, 20} {
		b.Add(&Item[int]{Value: i, Deadline: deadline}, 0)
	}
	assert.Equal(t, "the next deadline", b.NextDeadline(), 10)
	assert.EqualSlices(t, "late", values(b.Expire(20, nil)), []int{2, 3})
	want(t, b, 25, 0, 1)
	assert.Equal(t, "next deadline", b.NextDeadline(), 0)
}

func TestBatcher_PutBackKeepsPlace(t *testing.T) {
	b := New[int](Options{MaxSize: 2})
	add(b, "a", 0, 1, 2)
	add(b, "b", 0, 3)
	add(b, "a", 0, 4)
	batch := want(t, b, 0, 1, 2)
	for _, it := range slices.Backward(batch) {
		b.PutBack(it)
	}
	want(t, b, 0, 1, 2)
	want(t, b, 0, 3)
	want(t, b, 0, 4)
}

func TestBatcher_AloneLeavesAlone(t *testing.T) {
	b := New[int](Options{MaxSize: 4})
	batch := add(b, "", 0, 1, 2)
	add(b, "", 0, 3, 4)
	want(t, b, 0, 1, 2, 3, 4)
	// The worker died with the first two, and never saw the others.
	for _, it := range batch {
		it.Alone = true
		b.PutBack(it)
	}
	add(b, "", 0, 5, 6)
	want(t, b, 0, 1)
	want(t, b, 0, 2)
	want(t, b, 0, 5, 6)
}

// holdUntil holds all items until that time.
type holdUntil struct{ until time.Duration }

func (a holdUntil) Decide(v View) Decision {
	if v.Now < a.until && v.Ready < 3 {
		return Decision{Until: a.until}
	}
	return Decision{Run: min(3, v.Ready)}
}

func TestBatcher_HeldKeyKeepsOneWorkerForItself(t *testing.T) {
	b := newBatcher[int](3, holdUntil{until: 10 * ms})
	add(b, "held", 0, 1)
	add(b, "full", 0, 2, 3, 4)
	if batch, again := b.Take(0, 1, 1, nil); len(batch) != 0 || again != 10*ms {
		t.Errorf("the only worker: %v, %v, want len(batch) empty and again %v", values(batch), again, 10*ms)
	}
	batch, _ := b.Take(0, 2, 2, nil)
	assert.True(t, slices.Equal(values(batch), []int{2, 3, 4}), "the second worker: %v, want [2 3 4]", values(batch))
	want(t, b, 10*ms, 1)
}

func TestBatcher_TakeAhead(t *testing.T) {
	b := New[int](Options{MaxSize: 2})
	add(b, "a", 0, 1)
	add(b, "b", 0, 2, 3)
	batch := b.TakeAhead(nil)
	assert.True(t, len(batch) == 0, "%v lies ahead, and 1 was there before: got %d, want none", values(batch), len(batch))
	add(b, "a", 0, 4)
	for _, want := range [][]int{{1, 4}, {2, 3}, nil} {
		assert.EqualSlices(t, "ahead", values(b.TakeAhead(nil)), want)
	}
}

func TestBatcher_SteadyStateAllocatesNothing(t *testing.T) {
	b := New[int](Options{MaxSize: 8})
	items := make([]Item[int], 8)
	batch := make([]*Item[int], 0, 8)
	var now time.Duration
	round := func() {
		for i := range items {
			items[i].Deadline = now + time.Second
			b.Add(&items[i], now)
		}
		batch, _ = b.Take(now, 1, 1, batch[:0])
		assert.EqualNow(t, "items of the batch", len(batch), 8)
		now += ms
		b.Ended(now, 8, ms)
	}
	round()
	assert.Equal(t, "allocations a batch", testing.AllocsPerRun(100, round), 0)
}

// recorder records what it is shown, and decides as say says.
type recorder struct {
	views []View
	say   Decision
}

func (s *recorder) Decide(v View) Decision {
	s.views = append(s.views, v)
	return s.say
}

func TestBatcher_HoldCountsFromFirstRefusal(t *testing.T) {
	s := &recorder{say: Decision{Until: 10 * ms}}
	b := newBatcher[int](8, s)
	items := add(b, "", 0, 1, 2, 3)
	for _, now := range []time.Duration{ms, 2 * ms} {
		b.Take(now, 1, 1, nil)
	}
	b.Remove(items[0])
	s.say = Decision{Run: 1}
	want(t, b, 3*ms, 2) // 3 stays, and starts a new hold
	s.say = Decision{Until: 10 * ms}
	b.Take(5*ms, 1, 1, nil)
	for i, holdStart := range []time.Duration{ms, ms, ms, 5 * ms} {
		assert.Equal(t, fmt.Sprintf("question %d: held since", i), s.views[i].HoldStart, holdStart)
	}
}
