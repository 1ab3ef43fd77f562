package slot

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/await"
)

// notes is a Teller that writes down what it is told.
type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) note(words ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, strings.Join(words, " "))
}

func (n *notes) Started()                       { n.note("started") }
func (n *notes) Output(item []byte)             { n.note("output", string(item)) }
func (n *notes) Metric(metric []byte)           { n.note("metric", string(metric)) }
func (n *notes) Log(source string, text []byte) { n.note(source, string(text)) }

// What the function wrote is everybody's, what an item's own steps wrote is its own.
func TestLogsOfARide(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	zero := start(t, p, "0")
	tr := r.begin("0")
	told := &notes{}
	fs := startAll(t, p, "1", "2")
	fs = append(fs, startWith(t, p, "3", func(c *Call) { c.Tell = told }))
	r.arrive(tr)
	zero.succeeded()
	tr = r.begin("1", "2", "3")
	flags := []uint8{ipc.FlagHeld, ipc.FlagHeld, ipc.FlagHeld | ipc.FlagEvents}
	for i, it := range tr.items {
		if it.flags != flags[i] {
			t.Errorf("%s has flags %d, want %d", it.body, it.flags, flags[i])
		}
	}
	frame := func(kind ipc.Kind, id uint64, body string) {
		t.Helper()
		if err := r.line.send(kind, id, 0, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	frame(ipc.KindStarted, tr.items[2].id, "")
	frame(ipc.KindMetric, tr.items[2].id, `{"name":"m"}`)
	r.write("ours\n")
	frame(ipc.KindLogMark, tr.id, `{"stdout":5,"stderr":0}`)
	r.over(tr)
	frame(ipc.KindLog, tr.items[0].id, `{"source":"stdout","data":"mine\n"}`)
	for _, it := range tr.items {
		r.answer(ipc.KindSucceeded, it)
	}
	succeeded(fs...)
	for i, want := range []string{"ours\nmine\n", "ours\n", ""} {
		if got := string(fs[i].Result.Logs); got != want {
			t.Errorf("%s logged %q, want %q", fs[i].Name, got, want)
		}
	}
	if want := []string{"started", `metric {"name":"m"}`, "stdout ours\n"}; !slices.Equal(told.all, want) {
		t.Errorf("told %q, want %q", told.all, want)
	}
	r.clean()
}

// A call that rides with nobody gets its turn, though there is always a full ride to be laid before it.
func TestTrainingAmongRides(t *testing.T) {
	p := NewPool(Options{Queue: 20})
	r := newRider(t, p, rides())
	fs := startAll(t, p, "1")
	tr := r.begin("1")
	training := startWith(t, p, "train", func(c *Call) { c.Train = true })
	fs = append(fs, startAll(t, p, "2", "3", "4", "5", "6", "7")...)
	lies(t, r, 1, 7)
	if n := p.Place(training.Call); n != 1 {
		t.Errorf("the training has place %d", n)
	}
	r.arrive(tr)
	q := r.read()
	if q.kind != ipc.KindPredict || q.flags != ipc.FlagTrain || nameOf(q) != "train" || !r.line.claim(q.id) {
		t.Fatalf("got kind %d, flags %d, %s", q.kind, q.flags, q.body)
	}
	lies(t, r, 0, 6)
	r.line.succeed(q)
	training.succeeded()
	r.arrive(r.begin("2", "3", "4"))
	r.arrive(r.begin("5", "6", "7"))
	succeeded(fs...)
	r.clean()
}

func TestTrainingOfAModelThatPrepares(t *testing.T) {
	p := NewPool(Options{Queue: 20})
	r := newRider(t, p, preparing())
	fs := startAll(t, p, "1")
	r.prepared(r.hold("1"))
	tr := r.begin("1")
	training := startWith(t, p, "train", func(c *Call) { c.Train = true })
	fs = append(fs, start(t, p, "2"))
	r.over(tr)
	q := r.read() // though an answer is still to come
	if q.kind != ipc.KindPredict || q.flags != ipc.FlagTrain || !r.line.claim(q.id) {
		t.Fatalf("got kind %d, flags %d, %s", q.kind, q.flags, q.body)
	}
	r.answer(ipc.KindSucceeded, tr.items[0])
	two := r.hold("2")
	r.prepared(two)
	await.Eventually(t, "2 is ready", func() bool { return locked(p, func() bool { return fs[1].ready }) })
	lies(t, r, 0, 0)
	p.Cancel(training.Call)
	if !r.line.canceled(q.id) {
		t.Error("the training is not cancelled")
	}
	r.line.answer(ipc.KindCanceled, q.id, time.Second, "{}")
	r.arrive(r.begin("2"))
	succeeded(fs...)
	if res := training.result(); res.Kind != ipc.KindCanceled {
		t.Errorf("kind %d, error %v", res.Kind, res.Err)
	}
	r.clean()
}

// A queued training that is cancelled makes way for what waited behind it.
func TestACanceledTrainingMakesWay(t *testing.T) {
	p := NewPool(Options{Queue: 20})
	r := newRider(t, p, rides())
	fs := startAll(t, p, "1")
	tr := r.begin("1")
	training := startWith(t, p, "train", func(c *Call) { c.Train = true })
	fs = append(fs, startAll(t, p, "2", "3", "4")...)
	p.Cancel(training.Call)
	training.failed(ErrCanceled)
	next := r.gather() // ahead
	r.arrive(tr)
	if !r.line.claim(next.id) {
		t.Fatal("it was taken back")
	}
	r.arrive(next)
	succeeded(fs...)
	r.clean()
}

// A dead worker's last words end a ride, and one of its items.
func TestTheEndOfARideOutlivesItsWorker(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 9})
	fs := startAll(t, p, "1", "2", "3")
	r := newRider(t, p, rides())
	tr := r.begin("1", "2", "3")
	parked(t, fs...)
	unsent := frame(ipc.KindBatchDone, tr.id, []byte(`{"runs":1,"size":3,"failed":false}`))
	r.line.leave(append(unsent, frame(ipc.KindSucceeded, tr.items[0].id, tr.items[0].body)...))
	if had := r.bury("killed"); had != 2 {
		t.Errorf("it had %d", had)
	}
	r = newRider(t, p, rides())
	r.arrive(r.begin("2"))
	r.arrive(r.begin("3"))
	succeeded(fs...)
	r.clean()
}

func TestWhatAWorkerWithRidesDoes(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	fs := r.bunch("1", "2")
	tr := r.begin("1", "2")
	if got := r.slots[0].Running(); got != "1,2" {
		t.Errorf("it runs %q", got)
	}
	if v := p.Vitals(r.slots); v.Answered != 1 || v.Busy != 2 || v.Since.IsZero() {
		t.Errorf("vitals %+v", v)
	}
	p.Cancel(fs[0].Call)
	if got := r.slots[0].Running(); got != "2" {
		t.Errorf("it runs %q", got)
	}
	r.dropped(tr.items[0])
	r.arrive(tr)
	fs[1].succeeded()
	if v := p.Vitals(r.slots); v.Busy != 0 || !v.Since.IsZero() {
		t.Errorf("vitals %+v", v)
	}
	r.clean()
}
