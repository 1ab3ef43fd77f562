package ventu

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
)

func networks(t *testing.T, test func(t *testing.T, network string)) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) { test(t, network) })
	}
}

func TestQueue_Answers(t *testing.T) {
	networks(t, func(t *testing.T, network string) {
		r := newRig(t, network, Options{})
		w := r.worker()
		p := r.submit("a")
		w.echo(w.takeBodies("a"))
		p.ends(200, "re: a")
		waiting := []*pending{r.submit("b")}
		busy := w.takeBodies("b")
		for _, body := range []string{"c", "d", "e"} {
			waiting = append(waiting, r.submit(body))
		}
		w.echo(busy)
		w.echo(w.takeBodies("c", "d", "e"))
		for i, p := range waiting {
			p.ends(200, "re: "+string(rune('b'+i)))
		}
	})
}

func TestQueue_SingleJobLeavesAtOnce(t *testing.T) {
	r := newRig(t, "unix", Options{Gather: Adaptive})
	w := r.worker().run()
	for range 100 {
		r.submit("x").ends(200, "re: x")
	}
	assert.Equal(t, "batches", r.seen.counts().batches, 100)
	w.conn.Close()
}

// TestQueue_GatherHoldsUntilFull: with a wait that never ends, only a full batch leaves.
func TestQueue_GatherHoldsUntilFull(t *testing.T) {
	r := newRig(t, "unix", Options{Gather: time.Hour, Timeout: time.Hour, MaxSize: 3})
	w := r.worker()
	first, second := r.submit("a"), r.submit("b")
	assert.Equal(t, "wait", r.Load().Queued, 2)
	third := r.submit("c")
	w.echo(w.takeBodies("a", "b", "c"))
	for _, p := range []*pending{first, second, third} {
		p.ends(200, "*")
	}
}

func TestQueue_GatherEnds(t *testing.T) {
	r := newRig(t, "unix", Options{Gather: 2 * time.Millisecond, Timeout: time.Hour, MaxSize: 3})
	w := r.worker()
	p := r.submit("a")
	w.echo(w.takeBodies("a"))
	p.ends(200, "re: a")
}

func TestQueue_ErrorIDs(t *testing.T) {
	r := newRig(t, "unix", Options{MaxSize: 8})
	w := r.worker()
	busy := r.submit("busy")
	items := w.take()
	var submitted []*pending
	for i := range 4 {
		submitted = append(submitted, r.submit(fmt.Sprint(i)))
	}
	w.echo(items)
	busy.ends(200, "*")
	items = w.takeBodies("0", "1", "2", "3")
	// The errors first, and the answers in another order than asked for.
	w.send(framed(pairs("error_ids", items[1].id+items[3].id+strings.Repeat("?", 36),
		items[3].id, "bad3", items[2].id, "good2", items[0].id, "good0", items[1].id, "bad1")))
	submitted[0].ends(200, "good0")
	submitted[1].ends(422, "bad1")
	submitted[2].ends(200, "good2")
	submitted[3].ends(422, "bad3")
}

func TestQueue_SizesOfBatches(t *testing.T) {
	r := newRig(t, "unix", Options{MaxSize: 4})
	var submitted []*pending
	for i := range 11 {
		submitted = append(submitted, r.submit(fmt.Sprint(i)))
	}
	w := r.worker()
	var sizes []int
	for n := 0; n < len(submitted); {
		items := w.take()
		n += len(items)
		sizes = append(sizes, len(items))
		w.echo(items)
	}
	for i, p := range submitted {
		p.ends(200, fmt.Sprint("re: ", i))
	}
	assert.True(t, slices.Max(sizes) <= 4 && sizes[0] == 4,
		"batches of %v, where 4 is the largest, want Max at most 4 and sizes[0] 4", sizes)
}

func TestQueue_Full(t *testing.T) {
	r := newRig(t, "unix", Options{Capacity: 2})
	a, b := r.submit("a"), r.submit("b")
	_, err := r.Submit([]byte("c"))
	assert.ErrorIs(t, "Submit", err, ErrFull)
	r.worker().run()
	a.ends(200, "re: a")
	b.ends(200, "re: b")
	r.submit("c").ends(200, "re: c")
	r.saw("one refusal, three ends", func(c counts) bool { return c.refused == 1 && c.ended == 3 })
}

// TestQueue_LateIsNotSent: the original's batcher never looks at the first job's time.
func TestQueue_LateIsNotSent(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Second})
	r.submit("late").ends(408, "Timeout!")
	w := r.worker()
	late := r.submit("begun")
	items := w.takeBodies("begun")
	late.ends(408, "Timeout!")
	waiting := r.submit("waited")
	waiting.ends(408, "Timeout!")
	w.echo(items) // its late answer is ignored
	for range 3 {
		p := r.submit("next")
		w.echo(w.takeBodies("next"))
		p.ends(200, "re: next")
	}
}

func TestQueue_CanceledIsNotSent(t *testing.T) {
	r := newRig(t, "unix", Options{})
	canceled := r.submit("canceled")
	stays := r.submit("stays")
	canceled.job.Cancel()
	canceled.ends(StatusCanceled, "")
	w := r.worker()
	items := w.takeBodies("stays")
	stays.job.Cancel() // with its worker: the answer is dropped
	stays.ends(StatusCanceled, "")
	w.echo(items)
	p := r.submit("next")
	w.echo(w.takeBodies("next"))
	p.ends(200, "re: next")
	p.job.Cancel() // too late to do anything
}

// TestQueue_CancelWhileHeld: a canceled job fills no batch.
func TestQueue_CancelWhileHeld(t *testing.T) {
	r := newRig(t, "unix", Options{Gather: time.Hour, Timeout: time.Hour, MaxSize: 2})
	w := r.worker()
	canceled := r.submit("canceled")
	canceled.job.Cancel()
	canceled.ends(StatusCanceled, "")
	a, b := r.submit("a"), r.submit("b")
	w.echo(w.takeBodies("a", "b"))
	a.ends(200, "re: a")
	b.ends(200, "re: b")
}

func TestQueue_TwoWorkersShare(t *testing.T) {
	r := newRig(t, "unix", Options{MaxSize: 1})
	left, right := r.worker(), r.worker()
	a, b := r.submit("a"), r.submit("b")
	first, second := left.take(), right.take() // each has one at the same time
	right.echo(second)
	left.echo(first)
	a.ends(200, "re: a")
	b.ends(200, "re: b")
}

func TestQueue_NoJobForWorkerThatHasNotBegun(t *testing.T) {
	r := newRig(t, "unix", Options{})
	silent := r.connect()
	p := r.submit("a")
	r.worker().run()
	p.ends(200, "re: a")
	silent.send([]byte{0, 0, 0, 0})
	assert.Eventually(t, "it to be ready", func() bool { return len(r.Load().PIDs) == 2 })
}

func TestQueue_Ready(t *testing.T) {
	r := newRig(t, "tcp", Options{})
	assert.ErrorIs(t, "Ready", r.Ready(), ErrNoWorker)
	w := r.worker()
	err := r.Ready()
	assert.True(t, err == nil, "Ready: got %v, want no error with a worker", err)
	w.conn.Close()
	assert.Eventually(t, "the worker to disconnect", func() bool { return errors.Is(r.Ready(), ErrNoWorker) })
	r.saw("that it left", func(c counts) bool { return c.connected == 1 && c.left == 1 && c.failed == 0 })
}

// TestQueue_Large: bodies and answers far beyond what a socket holds, in both directions, several in a batch.
func TestQueue_Large(t *testing.T) {
	networks(t, func(t *testing.T, network string) {
		r := newRig(t, network, Options{Timeout: time.Hour})
		var submitted []*pending
		var bodies []string
		for i, size := range []int{300_000, 3_000_000, 1, 20_000, 70_000, 9_000_000} {
			bodies = append(bodies, string(bytes.Repeat([]byte{byte('a' + i)}, size)))
			submitted = append(submitted, r.submit(bodies[i]))
		}
		r.worker().run()
		for i, p := range submitted {
			p.ends(200, "re: "+bodies[i])
		}
	})
}

// TestQueue_MixedBatchesAreBounded: what would make a message too large waits for the next one.
func TestQueue_MixedBatchesAreBounded(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	body := strings.Repeat("b", mixedFrame/3)
	submitted := []*pending{r.submit(body), r.submit(body), r.submit(body), r.submit("small")}
	w := r.worker()
	for _, want := range []int{2, 2} {
		items := w.take()
		assert.Equal(t, "number of items", len(items), want)
		kv := []string{}
		for _, it := range items {
			kv = append(kv, it.id, "ok")
		}
		w.send(framed(pairs(kv...)))
	}
	for _, p := range submitted {
		p.ends(200, "ok")
	}
}

func TestQueue_Close(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	w := r.worker()
	sent := r.submit("sent")
	w.takeBodies("sent")
	waits := r.submit("waits")
	r.Close()
	sent.ends(502, "*")
	waits.ends(502, "*")
	w.disconnected()
	_, err := r.Submit([]byte("x"))
	assert.ErrorIs(t, "Submit", err, ErrClosed)
	assert.ErrorIs(t, "Ready", r.Ready(), ErrClosed)
}
