package batching

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"
)

func networks(t *testing.T, test func(t *testing.T, network string)) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) { test(t, network) })
	}
}

func TestAnswers(t *testing.T) {
	networks(t, func(t *testing.T, network string) {
		r := newRig(t, network, Options{})
		w := r.worker()
		p := r.submit("a")
		w.echo(w.takeBodies("a"))
		p.ends(200, "re: a")
		held := []*pending{r.submit("b")}
		busy := w.takeBodies("b")
		for _, body := range []string{"c", "d", "e"} {
			held = append(held, r.submit(body))
		}
		w.echo(busy)
		w.echo(w.takeBodies("c", "d", "e"))
		for i, p := range held {
			p.ends(200, "re: "+string(rune('b'+i)))
		}
	})
}

func TestLoneJobLeavesAtOnce(t *testing.T) {
	r := newRig(t, "unix", Options{Gather: Adaptive})
	w := r.worker().run()
	for range 100 {
		r.submit("x").ends(200, "re: x")
	}
	if got := r.seen.counts().batches; got != 100 {
		t.Errorf("%d batches, want 100 of one", got)
	}
	w.conn.Close()
}

// TestGatherHoldsUntilFull: with a wait that never ends, only a full batch leaves.
func TestGatherHoldsUntilFull(t *testing.T) {
	r := newRig(t, "unix", Options{Gather: time.Hour, Timeout: time.Hour, MaxSize: 3})
	w := r.worker()
	first, second := r.submit("a"), r.submit("b")
	if l := r.Load(); l.Queued != 2 {
		t.Errorf("%d wait, want 2", l.Queued)
	}
	third := r.submit("c")
	w.echo(w.takeBodies("a", "b", "c"))
	for _, p := range []*pending{first, second, third} {
		p.ends(200, "*")
	}
}

func TestGatherEnds(t *testing.T) {
	r := newRig(t, "unix", Options{Gather: 2 * time.Millisecond, Timeout: time.Hour, MaxSize: 3})
	w := r.worker()
	p := r.submit("a")
	w.echo(w.takeBodies("a"))
	p.ends(200, "re: a")
}

func TestErrorIDs(t *testing.T) {
	r := newRig(t, "unix", Options{MaxSize: 8})
	w := r.worker()
	busy := r.submit("busy")
	items := w.take()
	var all []*pending
	for i := range 4 {
		all = append(all, r.submit(fmt.Sprint(i)))
	}
	w.echo(items)
	busy.ends(200, "*")
	items = w.takeBodies("0", "1", "2", "3")
	// The errors first, and the answers in another order than asked for.
	w.send(framed(pairs("error_ids", items[1].id+items[3].id+strings.Repeat("?", 36),
		items[3].id, "bad3", items[2].id, "good2", items[0].id, "good0", items[1].id, "bad1")))
	all[0].ends(200, "good0")
	all[1].ends(422, "bad1")
	all[2].ends(200, "good2")
	all[3].ends(422, "bad3")
}

func TestSizesOfBatches(t *testing.T) {
	r := newRig(t, "unix", Options{MaxSize: 4})
	var all []*pending
	for i := range 11 {
		all = append(all, r.submit(fmt.Sprint(i)))
	}
	w := r.worker()
	var sizes []int
	for n := 0; n < len(all); {
		items := w.take()
		n += len(items)
		sizes = append(sizes, len(items))
		w.echo(items)
	}
	for i, p := range all {
		p.ends(200, fmt.Sprint("re: ", i))
	}
	if slices.Max(sizes) > 4 || sizes[0] != 4 {
		t.Errorf("batches of %v, where 4 is the largest", sizes)
	}
}

func TestFull(t *testing.T) {
	r := newRig(t, "unix", Options{Capacity: 2})
	a, b := r.submit("a"), r.submit("b")
	if _, err := r.Submit([]byte("c")); !errors.Is(err, ErrFull) {
		t.Errorf("Submit = %v, want ErrFull", err)
	}
	r.worker().run()
	a.ends(200, "re: a")
	b.ends(200, "re: b")
	r.submit("c").ends(200, "re: c")
	r.saw("one refusal, three ends", func(c counts) bool { return c.refused == 1 && c.ended == 3 })
}

// TestLateIsNotSent: the original's batcher never looks at the first job's time.
func TestLateIsNotSent(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: 20 * time.Millisecond})
	r.submit("late").ends(408, "Timeout!")
	w := r.worker()
	late := r.submit("begun")
	items := w.takeBodies("begun")
	late.ends(408, "Timeout!")
	waiting := r.submit("waited")
	waiting.ends(408, "Timeout!")
	w.echo(items) // whose answer comes too late, and harms nobody
	for range 3 {
		p := r.submit("next")
		w.echo(w.takeBodies("next"))
		p.ends(200, "re: next")
	}
}

func TestCancelledIsNotSent(t *testing.T) {
	r := newRig(t, "unix", Options{})
	gone := r.submit("gone")
	stays := r.submit("stays")
	gone.job.Cancel()
	gone.ends(StatusGone, "")
	w := r.worker()
	items := w.takeBodies("stays")
	stays.job.Cancel() // with its worker: the answer is dropped
	stays.ends(StatusGone, "")
	w.echo(items)
	p := r.submit("next")
	w.echo(w.takeBodies("next"))
	p.ends(200, "re: next")
	p.job.Cancel() // too late to do anything
}

// TestCancelOfTheHeldMovesTheRest: who was held for company that has left must not wait on.
func TestCancelWhileHeld(t *testing.T) {
	r := newRig(t, "unix", Options{Gather: time.Hour, Timeout: time.Hour, MaxSize: 2})
	w := r.worker()
	gone := r.submit("gone")
	gone.job.Cancel()
	gone.ends(StatusGone, "")
	a, b := r.submit("a"), r.submit("b")
	w.echo(w.takeBodies("a", "b"))
	a.ends(200, "re: a")
	b.ends(200, "re: b")
}

func TestTwoWorkersShare(t *testing.T) {
	r := newRig(t, "unix", Options{MaxSize: 1})
	one, two := r.worker(), r.worker()
	a, b := r.submit("a"), r.submit("b")
	first, second := one.take(), two.take() // each has one at the same time
	two.echo(second)
	one.echo(first)
	a.ends(200, "re: a")
	b.ends(200, "re: b")
}

func TestNoJobForAWorkerThatHasNotBegun(t *testing.T) {
	r := newRig(t, "unix", Options{})
	silent := r.connect()
	p := r.submit("a")
	r.worker().run()
	p.ends(200, "re: a")
	silent.send([]byte{0, 0, 0, 0})
	until(t, "it to be ready", func() bool { return len(r.Load().PIDs) == 2 })
}

func TestReady(t *testing.T) {
	r := newRig(t, "tcp", Options{})
	if err := r.Ready(); !errors.Is(err, ErrNoWorker) {
		t.Errorf("Ready = %v, want ErrNoWorker", err)
	}
	w := r.worker()
	if err := r.Ready(); err != nil {
		t.Errorf("Ready = %v with a worker", err)
	}
	w.conn.Close()
	until(t, "the worker to be gone", func() bool { return errors.Is(r.Ready(), ErrNoWorker) })
	r.saw("that it left", func(c counts) bool { return c.connected == 1 && c.left == 1 && c.failed == 0 })
}

// TestLostWorker: its jobs go to another one, one by one, and those that it had not got go on together.
func TestLostWorker(t *testing.T) {
	r := newRig(t, "unix", Options{MaxSize: 2})
	dying, other := r.worker(), r.worker()
	var all []*pending
	all = append(all, r.submit("0"), r.submit("1"))
	first, second := dying.takeBodies("0"), other.takeBodies("1")
	all = append(all, r.submit("2"), r.submit("3"), r.submit("4"), r.submit("5"))
	dying.echo(first)
	dying.takeBodies("2", "3")
	dying.conn.Close()
	until(t, "the jobs to be back", func() bool { return r.Load().Queued == 4 })
	other.echo(second)
	other.echo(other.takeBodies("2"))
	other.echo(other.takeBodies("3"))
	other.echo(other.takeBodies("4", "5"))
	for i, p := range all {
		p.ends(200, fmt.Sprint("re: ", i))
	}
	r.saw("a worker lost", func(c counts) bool { return c.failed == 1 && c.left == 0 })
}

func TestLostTwice(t *testing.T) {
	r := newRig(t, "unix", Options{})
	one, two, three := r.worker(), r.worker(), r.worker()
	p := r.submit("poison")
	one.takeBodies("poison")
	one.conn.Close()
	two.takeBodies("poison")
	two.conn.Close()
	p.ends(502, "*")
	q := r.submit("next")
	three.echo(three.takeBodies("next"))
	q.ends(200, "re: next")
}

func TestLostWithTheLastWorker(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	w := r.worker()
	had := r.submit("had")
	w.takeBodies("had")
	waits := r.submit("waits")
	w.conn.Close()
	had.ends(502, "*")
	r.worker().run()
	waits.ends(200, "re: waits")
}

// TestDeadIdleWorkerGetsNothing: a connection that ended while idle costs no job.
func TestDeadIdleWorkerGetsNothing(t *testing.T) {
	r := newRig(t, "tcp", Options{})
	for range 20 {
		dead := r.worker()
		dead.conn.(*net.TCPConn).SetLinger(0)
		dead.conn.Close()
		w := r.connect() // no wait for the dead one to be noticed
		w.send([]byte{0, 0, 0, 0})
		p := r.submit("a")
		w.run()
		p.ends(200, "re: a")
		w.conn.Close()
		until(t, "both to be gone", func() bool { return errors.Is(r.Ready(), ErrNoWorker) })
	}
}

// TestRubbish: whatever a worker says that is not the protocol ends its connection and no other, and its job
// goes to another worker.
func TestRubbish(t *testing.T) {
	id36 := strings.Repeat("x", 36)
	for name, answer := range map[string]func(id string) []byte{
		"no map":           func(string) []byte { return framed([]byte("hello")) },
		"nothing":          func(string) []byte { return framed(nil) },
		"an array":         func(string) []byte { return framed(msgp.AppendArrayHeader(nil, 1)) },
		"4 GiB announced":  func(string) []byte { return []byte{0xff, 0xff, 0xff, 0xff, 'x'} },
		"map of 4 G pairs": func(string) []byte { return framed([]byte{0xdf, 0xff, 0xff, 0xff, 0xff}) },
		"cut map":          func(id string) []byte { b := pairs(id, "a"); return framed(b[:len(b)-1]) },
		"bytes behind":     func(id string) []byte { return framed(append(pairs(id, "a"), 0)) },
		"number as key":    func(string) []byte { return framed([]byte{0x81, 1, 0xc4, 0}) },
		"number as value":  func(id string) []byte { return framed(append(append([]byte{0x81}, msgp.AppendString(nil, id)...), 7)) },
		"value beyond": func(id string) []byte {
			return framed(append(append([]byte{0x81}, msgp.AppendString(nil, id)...), 0xc6, 0x7f, 0xff, 0xff, 0xff))
		},
		"key beyond":       func(string) []byte { return framed([]byte{0x81, 0xdb, 0xff, 0xff, 0xff, 0xff}) },
		"long key":         func(string) []byte { return framed(pairs(strings.Repeat("k", 2000), "v")) },
		"half an error id": func(id string) []byte { return framed(pairs(id, "a", "error_ids", id36[:20])) },
		"error ids a number": func(id string) []byte {
			return framed(append(append([]byte{0x81}, msgp.AppendString(nil, "error_ids")...), 7))
		},
		"two answers": func(id string) []byte {
			return append(framed(pairs(id, "re: job")), framed(pairs(id, "again"))...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "unix", Options{Timeout: time.Hour})
			bad := r.worker()
			p := r.submit("job")
			items := bad.take()
			good := r.worker().run()
			bad.send(answer(items[0].id))
			if strings.HasPrefix(name, "4 GiB") {
				bad.conn.(*net.UnixConn).CloseWrite()
			}
			bad.dismissed()
			p.ends(200, "re: job")
			r.submit("next").ends(200, "re: next")
			_ = good
		})
	}
}

func TestBadBeginning(t *testing.T) {
	for name, begin := range map[string][]byte{"another number": {0, 0, 0, 1}, "http": []byte("GET / HTTP/1.1\r\n\r\n")} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "tcp", Options{})
			w := r.connect()
			w.send(begin)
			w.dismissed()
			if l := r.Load(); len(l.PIDs) != 0 {
				t.Errorf("it counts as a worker")
			}
		})
	}
}

func TestUnaskedAnswer(t *testing.T) {
	r := newRig(t, "tcp", Options{})
	w := r.worker()
	w.send(framed(pairs("x", "y")))
	w.dismissed()
}

// TestStalledAnswer: a worker that stops in the midst of an answer is given up, one that computes is not.
func TestStalledAnswer(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour, StallTimeout: 20 * time.Millisecond})
	stalled := r.worker()
	p := r.submit("a")
	items := stalled.takeBodies("a")
	r.worker().run()
	message := framed(pairs(items[0].id, "never"))
	stalled.send(message[:len(message)-1])
	stalled.dismissed()
	p.ends(200, "re: a")
}

// TestUnreadBatch: nor may a worker leave a batch unread for ever.
func TestUnreadBatch(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour, StallTimeout: 20 * time.Millisecond})
	deaf := r.worker()
	p := r.submit(strings.Repeat("b", 12<<20))
	until(t, "the worker to be given up", func() bool { return len(r.Load().PIDs) == 0 })
	p.ends(502, "*")
	deaf.conn.Close()
}

func TestMissingAnswer(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour, MaxSize: 2})
	w := r.worker()
	busy := r.submit("busy")
	items := w.take()
	a, b := r.submit("a"), r.submit("b")
	w.echo(items)
	busy.ends(200, "*")
	items = w.takeBodies("a", "b")
	other := r.worker()
	w.send(framed(pairs(items[0].id, "re: a")))
	a.ends(200, "re: a")
	// b goes to whichever is idle for the longest time, and w is not dismissed.
	other.echo(other.takeBodies("b"))
	b.ends(200, "re: b")
	c := r.submit("c")
	w.echo(w.takeBodies("c"))
	c.ends(200, "re: c")
}

func TestNilIsAnEmptyAnswer(t *testing.T) {
	r := newRig(t, "unix", Options{})
	w := r.worker()
	p := r.submit("a")
	items := w.take()
	w.send(framed(msgp.AppendNil(msgp.AppendString(msgp.AppendMapHeader(nil, 1), items[0].id))))
	p.ends(200, "")
}

func TestAnswerTooLarge(t *testing.T) {
	r := newRig(t, "unix", Options{MaxAnswer: 10, MaxSize: 2})
	w := r.worker()
	p := r.submit("a")
	items := w.take()
	w.send(framed(pairs(items[0].id, "eleven byte")))
	p.ends(502, "The worker's answer has 11 bytes, and 10 is the most")
	p = r.submit("b")
	items = w.take()
	w.send(framed(pairs(items[0].id, "ten bytes.")))
	p.ends(200, "ten bytes.")
}

// TestLarge: bodies and answers far beyond what a socket holds, in both directions, several in a batch.
func TestLarge(t *testing.T) {
	networks(t, func(t *testing.T, network string) {
		r := newRig(t, network, Options{Timeout: time.Hour})
		var all []*pending
		var bodies []string
		for i, size := range []int{300_000, 3_000_000, 1, 20_000, 70_000, 9_000_000} {
			bodies = append(bodies, string(bytes.Repeat([]byte{byte('a' + i)}, size)))
			all = append(all, r.submit(bodies[i]))
		}
		r.worker().run()
		for i, p := range all {
			p.ends(200, "re: "+bodies[i])
		}
	})
}

// TestMixedBatchesAreBounded: what would make a message too large waits for the next one.
func TestMixedBatchesAreBounded(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	body := strings.Repeat("b", mixedFrame/3)
	all := []*pending{r.submit(body), r.submit(body), r.submit(body), r.submit("small")}
	w := r.worker()
	for _, want := range []int{2, 2} {
		items := w.take()
		if len(items) != want {
			t.Errorf("a batch of %d, want %d", len(items), want)
		}
		kv := []string{}
		for _, it := range items {
			kv = append(kv, it.id, "ok")
		}
		w.send(framed(pairs(kv...)))
	}
	for _, p := range all {
		p.ends(200, "ok")
	}
}

func TestClose(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour})
	w := r.worker()
	sent := r.submit("sent")
	w.takeBodies("sent")
	waits := r.submit("waits")
	r.Close()
	sent.ends(502, "*")
	waits.ends(502, "*")
	w.dismissed()
	if _, err := r.Submit([]byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("Submit = %v, want ErrClosed", err)
	}
	if err := r.Ready(); !errors.Is(err, ErrClosed) {
		t.Errorf("Ready = %v, want ErrClosed", err)
	}
}

// TestEveryJobEndsOnce: many clients, workers that come and go in every way, cancels. Each job gets its own answer, and
// nothing is left.
func TestEveryJobEndsOnce(t *testing.T) {
	r := newRig(t, "unix", Options{MaxSize: 8, Timeout: time.Hour, Capacity: 10_000})
	keeper := r.worker().run()
	stop := make(chan struct{})
	var rough sync.WaitGroup
	for range 3 {
		rough.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				w := r.connect()
				w.conn.Write([]byte{0, 0, 0, 0})
				for range rand.IntN(20) {
					items, err := w.tryTake()
					if err != nil {
						break
					}
					kv := []string{}
					for _, it := range items {
						kv = append(kv, it.id, "re: "+it.body)
					}
					message := framed(pairs(kv...))
					if rand.IntN(10) == 0 {
						w.conn.Write(message[:rand.IntN(len(message))])
						break
					}
					w.conn.Write(message)
				}
				w.conn.Close()
			}
		})
	}
	var clients sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for c := range 16 {
		clients.Go(func() {
			for i := range 60 {
				body := fmt.Sprint(c, "-", i)
				j, err := r.Submit([]byte(body))
				if err != nil {
					t.Error(err)
					return
				}
				if rand.IntN(10) == 0 {
					go j.Cancel()
				}
				status, answer := j.Wait()
				mu.Lock()
				statuses[status]++
				mu.Unlock()
				if status == 200 && string(answer) != "re: "+body {
					t.Errorf("job %q got the answer %q", body, answer)
				}
			}
		})
	}
	clients.Wait()
	close(stop)
	keeper.conn.Close() // so that those who wait for a batch see their connections through
	r.Close()
	rough.Wait()
	for status := range statuses {
		if status != 200 && status != 502 && status != StatusGone {
			t.Errorf("%d jobs ended with %d", statuses[status], status)
		}
	}
	if l := r.Load(); l.InFlight != 0 || l.Queued != 0 || statuses[200] == 0 {
		t.Errorf("left behind: %+v; ends: %v", l, statuses)
	}
}
