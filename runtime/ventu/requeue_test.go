package ventu

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"

	"pinion/tests/assert"
)

// TestRequeue_FailedWorker: its jobs go to another one, one by one, and those that it had not got go on together.
func TestRequeue_FailedWorker(t *testing.T) {
	r := newRig(t, "unix", Options{MaxSize: 2})
	dying, other := r.worker(), r.worker()
	var submitted []*pending
	submitted = append(submitted, r.submit("0"), r.submit("1"))
	first, second := dying.takeBodies("0"), other.takeBodies("1")
	submitted = append(submitted, r.submit("2"), r.submit("3"), r.submit("4"), r.submit("5"))
	dying.echo(first)
	dying.takeBodies("2", "3")
	dying.conn.Close()
	assert.Eventually(t, "the jobs to be back", func() bool { return r.Load().Queued == 4 })
	other.echo(second)
	other.echo(other.takeBodies("2"))
	other.echo(other.takeBodies("3"))
	other.echo(other.takeBodies("4", "5"))
	for i, p := range submitted {
		p.ends(200, fmt.Sprint("re: ", i))
	}
	r.saw("a failed worker", func(c counts) bool { return c.failed == 1 && c.left == 0 })
}

func TestRequeue_TwoWorkersFail(t *testing.T) {
	r := newRig(t, "unix", Options{})
	first, second, third := r.worker(), r.worker(), r.worker()
	p := r.submit("poison")
	first.takeBodies("poison")
	first.conn.Close()
	second.takeBodies("poison")
	second.conn.Close()
	p.ends(502, "*")
	q := r.submit("next")
	third.echo(third.takeBodies("next"))
	q.ends(200, "re: next")
}

func TestRequeue_LastWorkerFails(t *testing.T) {
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

// TestRequeue_DeadIdleWorkerGetsNothing: a connection that ended while idle costs no job.
func TestRequeue_DeadIdleWorkerGetsNothing(t *testing.T) {
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
		assert.Eventually(t, "both to disconnect", func() bool { return errors.Is(r.Ready(), ErrNoWorker) })
	}
}

// TestRequeue_Rubbish: what does not follow the protocol ends its connection and no other, and its job
// goes to another worker.
func TestRequeue_Rubbish(t *testing.T) {
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
		"number as value": func(id string) []byte {
			return framed(append(append([]byte{0x81}, msgp.AppendString(nil, id)...), 7))
		},
		"value beyond": func(id string) []byte {
			return framed(append(append([]byte{0x81}, msgp.AppendString(nil, id)...), 0xc6, 0x7f, 0xff, 0xff, 0xff))
		},
		"key beyond":       func(string) []byte { return framed([]byte{0x81, 0xdb, 0xff, 0xff, 0xff, 0xff}) },
		"long key":         func(string) []byte { return framed(pairs(strings.Repeat("k", 2000), "v")) },
		"half an error id": func(id string) []byte { return framed(pairs(id, "a", "error_ids", id36[:20])) },
		"error ids a number": func(id string) []byte {
			return framed(append(append([]byte{0x81}, msgp.AppendString(nil, "error_ids")...), 7))
		},
		"two answers": func(id string) []byte { return append(framed(pairs(id, "re: job")), framed(pairs(id, "again"))...) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "unix", Options{Timeout: time.Hour})
			bad := r.worker()
			p := r.submit("job")
			items := bad.take()
			r.worker().run()
			bad.send(answer(items[0].id))
			if strings.HasPrefix(name, "4 GiB") {
				bad.conn.(*net.UnixConn).CloseWrite()
			}
			bad.disconnected()
			p.ends(200, "re: job")
			r.submit("next").ends(200, "re: next")
		})
	}
}

func TestRequeue_BadBeginning(t *testing.T) {
	for name, begin := range map[string][]byte{"another number": {0, 0, 0, 1}, "http": []byte("GET / HTTP/1.1\r\n\r\n")} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "tcp", Options{})
			w := r.connect()
			w.send(begin)
			w.disconnected()
			assert.Equal(t, "counts as a worker", len(r.Load().PIDs), 0)
		})
	}
}

func TestRequeue_UnaskedAnswer(t *testing.T) {
	r := newRig(t, "tcp", Options{})
	w := r.worker()
	w.send(framed(pairs("x", "y")))
	w.disconnected()
}

// TestRequeue_StalledAnswer: a worker that stops in the midst of an answer is given up, one that computes is not.
func TestRequeue_StalledAnswer(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour, StallTimeout: time.Second})
	stalled := r.worker()
	p := r.submit("a")
	items := stalled.takeBodies("a")
	r.worker().run()
	message := framed(pairs(items[0].id, "never"))
	stalled.send(message[:len(message)-1])
	stalled.disconnected()
	p.ends(200, "re: a")
}

// TestRequeue_UnreadBatch: a worker must not leave a batch unread forever.
func TestRequeue_UnreadBatch(t *testing.T) {
	r := newRig(t, "unix", Options{Timeout: time.Hour, StallTimeout: 20 * time.Millisecond})
	unread := r.worker()
	p := r.submit(strings.Repeat("b", 12<<20))
	assert.Eventually(t, "the worker to be given up", func() bool { return len(r.Load().PIDs) == 0 })
	p.ends(502, "*")
	unread.conn.Close()
}

func TestRequeue_MissingAnswer(t *testing.T) {
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
	// b goes to the worker that is idle for the longest time, and w is not disconnected.
	other.echo(other.takeBodies("b"))
	b.ends(200, "re: b")
	c := r.submit("c")
	w.echo(w.takeBodies("c"))
	c.ends(200, "re: c")
}

func TestRequeue_NilIsEmptyAnswer(t *testing.T) {
	r := newRig(t, "unix", Options{})
	w := r.worker()
	p := r.submit("a")
	items := w.take()
	w.send(framed(msgp.AppendNil(msgp.AppendString(msgp.AppendMapHeader(nil, 1), items[0].id))))
	p.ends(200, "")
}

func TestRequeue_AnswerTooLarge(t *testing.T) {
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
