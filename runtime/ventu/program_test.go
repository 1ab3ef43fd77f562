package ventu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"

	"pinion/tests/assert"
)

// timeout is how long a state is waited for.
const timeout = 20 * time.Second

// rig is a queue with a socket for workers.
type rig struct {
	*Queue
	t       testing.TB
	address net.Addr
	seen    *witness
}

func newRig(t testing.TB, network string, o Options) *rig {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	ln := assert.Must(net.Listen(network, address))(t)
	seen := &witness{}
	o.Observer = seen
	r := &rig{Queue: New(o), t: t, address: ln.Addr(), seen: seen}
	served := make(chan error, 1)
	go func() { served <- r.Serve(ln) }()
	t.Cleanup(func() {
		r.Close()
		err := <-served
		assert.True(t, err == nil, "Serve: got %v, want no error", err)
	})
	return r
}

// witness records the calls of an Observer.
type witness struct {
	mu                sync.Mutex
	ends              []End
	refused           int
	batches           []int
	connected, failed int
	left              int
	suspended         int
}

func (w *witness) count(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *witness) Ended(e End) { w.count(func() { w.ends = append(w.ends, e) }) }
func (w *witness) Refused()    { w.count(func() { w.refused++ }) }
func (w *witness) Batch(size int, _ time.Duration) {
	w.count(func() { w.batches = append(w.batches, size) })
}
func (w *witness) Connected() { w.count(func() { w.connected++ }) }
func (w *witness) Disconnected(failed bool) {
	w.count(func() {
		if failed {
			w.failed++
		} else {
			w.left++
		}
	})
}

func (w *witness) Suspended() { w.count(func() { w.suspended++ }) }

// counts is what was observed so far.
type counts struct{ ended, refused, batches, connected, failed, left, suspended int }

func (w *witness) counts() (c counts) {
	w.count(func() { c = counts{len(w.ends), w.refused, len(w.batches), w.connected, w.failed, w.left, w.suspended} })
	return c
}

// saw waits until the observer has seen it.
func (r *rig) saw(what string, ok func(counts) bool) {
	r.t.Helper()
	assert.Eventually(r.t, what, func() bool { return ok(r.seen.counts()) })
}

// submit hands in a job and waits for it in the background.
func (r *rig) submit(body string) *pending {
	r.t.Helper()
	j, err := r.Submit([]byte(body))
	assert.NoError(r.t, err, "submit")
	p := &pending{t: r.t, job: j, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.status, p.answer = j.Wait()
	}()
	return p
}

// pending is a job that is waited for.
type pending struct {
	t      testing.TB
	job    *Job
	done   chan struct{}
	status int
	answer []byte
}

// ends waits for the job's end and compares it; a want of "*" stands for any answer.
func (p *pending) ends(status int, want string) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(timeout):
		p.t.Fatalf("the job runs after %s, want its end", timeout)
	}
	assert.True(p.t, p.status == status && (want == "*" || string(p.answer) == want),
		"the job ended with %d %.100q, want %d %.100q", p.status, p.answer, status, want)
}

// program is a worker, written straight from the protocol with another library for msgpack.
type program struct {
	t    testing.TB
	conn net.Conn
}

// item is a job as a worker sees it.
type item struct{ id, body string }

// connect connects a worker that has not said anything.
func (r *rig) connect() *program {
	r.t.Helper()
	return assert.Must(r.dial())(r.t)
}

// dial is connect for where the queue may have been closed.
func (r *rig) dial() (*program, error) {
	conn, err := net.Dial(r.address.Network(), r.address.String())
	if err != nil {
		return nil, err
	}
	r.t.Cleanup(func() { conn.Close() })
	return &program{r.t, conn}, nil
}

// worker connects a worker and waits until it counts.
func (r *rig) worker() *program {
	r.t.Helper()
	before := len(r.Load().PIDs)
	w := r.connect()
	w.send([]byte{0, 0, 0, 0})
	assert.Eventually(r.t, "the worker to be ready", func() bool { return len(r.Load().PIDs) == before+1 })
	return w
}

func (w *program) send(b []byte) {
	w.t.Helper()
	_, err := w.conn.Write(b)
	assert.TrueNow(w.t, err == nil, "worker: got %v, want no error", err)
}

// take reads a batch.
func (w *program) take() []item {
	w.t.Helper()
	items, err := w.tryTake()
	assert.NoError(w.t, err, "worker")
	return items
}

func (w *program) tryTake() (items []item, err error) {
	w.conn.SetReadDeadline(time.Now().Add(timeout))
	var length [4]byte
	if _, err := io.ReadFull(w.conn, length[:]); err != nil {
		return nil, err
	}
	message := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(w.conn, message); err != nil {
		return nil, err
	}
	return parse(message)
}

// parse reads a batch's message.
func parse(message []byte) (items []item, err error) {
	n, message, err := msgp.ReadMapHeaderBytes(message)
	for range n {
		var id string
		var body []byte
		if err == nil {
			id, message, err = msgp.ReadStringBytes(message)
		}
		if err == nil {
			body, message, err = msgp.ReadBytesZC(message)
		}
		items = append(items, item{id, string(body)})
	}
	if err == nil && len(message) > 0 {
		err = fmt.Errorf("%d bytes follow the map", len(message))
	}
	return items, err
}

// takeBodies reads a batch and compares its bodies.
func (w *program) takeBodies(want ...string) []item {
	w.t.Helper()
	items := w.take()
	got := make([]string, len(items))
	for i, it := range items {
		got[i] = it.body
	}
	assert.True(w.t, fmt.Sprint(got) == fmt.Sprint(want), "the worker got %.200q, want %.200q", got, want)
	return items
}

// framed puts a message's length before it.
func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// pairs makes an answer's message.
func pairs(kv ...string) []byte {
	b := msgp.AppendMapHeader(nil, uint32(len(kv)/2))
	for i := 0; i < len(kv); i += 2 {
		b = msgp.AppendString(b, kv[i])
		b = msgp.AppendBytes(b, []byte(kv[i+1]))
	}
	return b
}

// echo answers each item with a prefix and its own body.
func (w *program) echo(items []item) {
	w.t.Helper()
	var kv []string
	for _, it := range items {
		kv = append(kv, it.id, "re: "+it.body)
	}
	w.send(framed(pairs(kv...)))
}

// run makes a worker echo until its connection ends.
func (w *program) run() *program {
	go func() {
		for {
			items, err := w.tryTake()
			if err != nil {
				return
			}
			var kv []string
			for _, it := range items {
				kv = append(kv, it.id, "re: "+it.body)
			}
			if _, err := w.conn.Write(framed(pairs(kv...))); err != nil {
				return
			}
		}
	}()
	return w
}

// disconnected waits until the server has ended the connection.
func (w *program) disconnected() {
	w.t.Helper()
	w.conn.SetReadDeadline(time.Now().Add(timeout))
	if _, err := io.Copy(io.Discard, w.conn); err != nil {
		e, ok := errors.AsType[net.Error](err)
		assert.TrueNow(w.t, !ok || !e.Timeout(), "the connection goes on")
	}
}
