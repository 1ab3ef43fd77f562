package slot

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

// recordedEvents is an EventSink that records its events.
type recordedEvents struct {
	mu   sync.Mutex
	list []string
}

func (n *recordedEvents) add(words ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, strings.Join(words, " "))
}

func (n *recordedEvents) Started()                       { n.add("started") }
func (n *recordedEvents) Flush()                         {}
func (n *recordedEvents) Output(item []byte, _ bool)     { n.add("output", string(item)) }
func (n *recordedEvents) Metric(metric []byte)           { n.add("metric", string(metric)) }
func (n *recordedEvents) Log(source string, text []byte) { n.add(source, string(text)) }

// Text of the function belongs to all items; text of an item's own steps belongs to that item.
func TestBatches_LogsOfBatch(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	zero := start(t, p, "0")
	tr := r.begin("0")
	events := &recordedEvents{}
	fs := startAll(t, p, "1", "2")
	fs = append(fs, startWith(t, p, "3", func(c *Call) { c.Events = events }))
	r.answerAll(tr)
	zero.succeeded()
	tr = r.begin("1", "2", "3")
	flags := []uint8{ipc.FlagBatchItem, ipc.FlagBatchItem, ipc.FlagBatchItem | ipc.FlagEvents}
	for i, it := range tr.items {
		assert.Equal(t, fmt.Sprintf("flags of %s", it.body), it.flags, flags[i])
	}
	frame := func(kind ipc.Kind, id uint64, body string) {
		t.Helper()
		assert.NoError(t, r.end.send(kind, id, 0, []byte(body)))
	}
	frame(ipc.KindStarted, tr.items[2].id, "")
	frame(ipc.KindMetric, tr.items[2].id, `{"name":"m"}`)
	r.write("ours\n")
	frame(ipc.KindLogMark, tr.id, `{"stdout":5,"stderr":0}`)
	r.done(tr)
	frame(ipc.KindLog, tr.items[0].id, `{"source":"stdout","data":"mine\n"}`)
	for _, it := range tr.items {
		r.answer(ipc.KindSucceeded, it)
	}
	succeeded(fs...)
	for i, want := range []string{"ours\nmine\n", "ours\n", ""} {
		assert.Equal(t, fmt.Sprintf("%s logged", fs[i].Name), string(fs[i].Result.Logs), want)
	}
	assert.EqualSlices(t, "the events", events.list, []string{"started", `metric {"name":"m"}`, "stdout ours\n"})
	r.noneLeft()
}

// A call that cannot be batched gets its turn, though there is always a full batch that could go ahead of it.
func TestBatches_TrainingAmongBatches(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 20}, batchesOfThree())
	fs := startAll(t, p, "1")
	tr := r.begin("1")
	training := startTraining(t, p, "train")
	fs = append(fs, startAll(t, p, "2", "3", "4", "5", "6", "7")...)
	inSlot(t, r, 1, 7)
	assert.Equal(t, "position of the training", p.QueuePosition(training.Call), 1)
	r.answerAll(tr)
	q := r.read()
	assert.TrueNow(t, q.kind == ipc.KindPredict && q.flags == ipc.FlagTrain && nameOf(q) == "train" && r.end.claim(q.id),
		"got kind %d, flags %d, %s, want the training, which the worker may claim", q.kind, q.flags, q.body)
	inSlot(t, r, 0, 6)
	r.end.succeed(q)
	training.succeeded()
	r.answerAll(r.begin("2", "3", "4"))
	r.answerAll(r.begin("5", "6", "7"))
	succeeded(fs...)
	r.noneLeft()
}

func TestBatches_TrainingWithPreparation(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 20}, preparing())
	fs := startAll(t, p, "1")
	r.prepared(r.item("1"))
	tr := r.begin("1")
	training := startTraining(t, p, "train")
	fs = append(fs, start(t, p, "2"))
	r.done(tr)
	q := r.read() // before the batch's answer
	if q.kind != ipc.KindPredict || q.flags != ipc.FlagTrain || !r.end.claim(q.id) {
		t.Fatalf("got kind %d, flags %d, %s, want kind %v, flags %d and r.end.claim(q.id) true", q.kind, q.flags, q.body,
			ipc.KindPredict, ipc.FlagTrain)
	}
	r.answer(ipc.KindSucceeded, tr.items[0])
	two := r.item("2")
	r.prepared(two)
	assert.Eventually(t, "2 is ready", func() bool { return locked(p, func() bool { return fs[1].batch.prepared }) })
	inSlot(t, r, 0, 0)
	p.Cancel(training.Call)
	assert.True(t, r.end.canceled(q.id), "the training is not canceled")
	r.end.answer(ipc.KindCanceled, q.id, time.Second, "{}")
	r.answerAll(r.begin("2"))
	succeeded(fs...)
	assert.Equal(t, "the kind", training.result().Kind, ipc.KindCanceled)
	r.noneLeft()
}

// A training waits for the items that were prepared before it came.
func TestBatches_TrainingWaitsForPreparedItems(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 20}, preparing())
	fs := startAll(t, p, "1")
	r.prepared(r.item("1"))
	tr := r.begin("1")
	fs = append(fs, startAll(t, p, "2", "3")...)
	second, third := r.item("2"), r.item("3")
	training := startTraining(t, p, "train")
	fs = append(fs, start(t, p, "4"))
	r.prepared(second)
	assert.Eventually(t, "2 is ready", func() bool { return locked(p, func() bool { return fs[1].batch.prepared }) })
	r.answerAll(tr)
	r.answerAll(r.begin("2"))
	r.prepared(third)
	r.answerAll(r.begin("3"))
	q := r.read()
	assert.TrueNow(t, q.kind == ipc.KindPredict && q.flags == ipc.FlagTrain && r.end.claim(q.id),
		"got kind %v, flags %d, %s, want a training", q.kind, q.flags, q.body)
	r.end.answer(ipc.KindSucceeded, q.id, time.Second, string(body("train")))
	training.succeeded()
	r.prepared(r.item("4"))
	r.answerAll(r.begin("4"))
	succeeded(fs...)
	r.noneLeft()
}

// A queued training that is canceled lets those behind it go.
func TestBatches_CanceledTrainingMakesWay(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 20}, batchesOfThree())
	fs := startAll(t, p, "1")
	tr := r.begin("1")
	training := startTraining(t, p, "train")
	fs = append(fs, startAll(t, p, "2", "3", "4")...)
	p.Cancel(training.Call)
	training.failed(ErrCanceled)
	next := r.batch() // ahead
	r.answerAll(tr)
	assert.TrueNow(t, r.end.claim(next.id), "it was taken back")
	r.answerAll(next)
	succeeded(fs...)
	r.noneLeft()
}

// Frames that a dead worker did not send end a batch, and one of its items.
func TestBatches_AnswersOfBatchOutliveWorker(t *testing.T) {
	p := testPool(t, Options{Queue: 9})
	fs := startAll(t, p, "1", "2", "3")
	r := newBatchWorker(t, p, batchesOfThree())
	tr := r.begin("1", "2", "3")
	parked(t, fs...)
	unsent := frame(ipc.KindBatchDone, tr.id, []byte(`{"runs":1,"size":3,"failed":false}`))
	r.end.leaveUnsent(append(unsent, frame(ipc.KindSucceeded, tr.items[0].id, tr.items[0].body)...))
	assert.Equal(t, "calls that ended", r.terminate("killed"), 2)
	r = newBatchWorker(t, p, batchesOfThree())
	r.answerAll(r.begin("2"))
	r.answerAll(r.begin("3"))
	succeeded(fs...)
	r.noneLeft()
}

func TestBatches_WorkerLoadWithBatches(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	fs := r.startTogether("1", "2")
	tr := r.begin("1", "2")
	assert.Equal(t, "prediction of the first slot", r.slots[0].Running(), "1,2")
	v := p.WorkerLoad(r.slots)
	assert.True(t, v.Answered == 1 && v.Busy == 2 && !v.Since.IsZero(), "load %+v, want Answered 1, Busy 2 and Since non-zero", v)
	p.Cancel(fs[0].Call)
	assert.Equal(t, "prediction of the first slot", r.slots[0].Running(), "2")
	r.dropped(tr.items[0])
	r.answerAll(tr)
	fs[1].succeeded()
	v = p.WorkerLoad(r.slots)
	assert.True(t, v.Busy == 0 && v.Since.IsZero(), "load %+v, want Busy 0 and Since zero", v)
	r.noneLeft()
}
