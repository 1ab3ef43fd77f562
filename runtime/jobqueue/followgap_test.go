package jobqueue

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// handServer is a server of a job whose messages a test writes by hand.
type handServer struct {
	t        *testing.T
	nc       *nats.Conn
	requests *nats.Subscription // for events
	p        *predict.Prediction
	ended    chan error
}

// follow has a member submit a job that no server takes, and follow its events.
func (r *rig) follow() *handServer {
	r.t.Helper()
	gateway := r.join("gateway", nil)
	nc := assert.Must(nats.Connect(r.url))(r.t)
	r.t.Cleanup(nc.Close)
	h := &handServer{t: r.t, nc: nc, ended: make(chan error, 1)}
	h.requests = assert.Must(nc.SubscribeSync("pinion.attach.m.>"))(r.t)
	assert.NoError(r.t, nc.Flush())
	s := submission("one", `{"s":"x"}`)
	s.Request.Mode = predict.Stream
	h.p = assert.Must(gateway.Submit(s, true))(r.t)
	go func() { h.ended <- h.p.Run() }()
	r.t.Cleanup(func() {
		h.p.Cancel()
		if err := <-h.ended; err != nil {
			r.t.Error(err)
		}
		h.p.Release()
	})
	return h
}

// start tells the follower that a run has begun.
func (h *handServer) start() {
	h.t.Helper()
	q := h.p.Runner().(*follower)
	assert.NoError(h.t, h.nc.Publish(q.reply, []byte("begun")))
}

// request returns the follower's next request for events.
func (h *handServer) request() *nats.Msg {
	h.t.Helper()
	m, err := h.requests.NextMsg(assert.Timeout)
	assert.NoError(h.t, err, "got no request for events")
	return m
}

// send sends events of a run to the inbox of a request.
func (h *handServer) send(m *nats.Msg, events ...live.Event) {
	h.t.Helper()
	for _, e := range events {
		e.Attempt = 1
		text, err := json.Marshal(e)
		if err == nil {
			err = h.nc.Publish(m.Reply, text)
		}
		assert.NoError(h.t, err)
	}
}

func outputEvent(number, index uint64) live.Event {
	return live.Event{Number: number, Index: index, Event: live.EventOutput, Data: fmt.Appendf(nil, "%d", index)}
}

func logEvent(number uint64, text string) live.Event {
	return live.Event{
		Number: number, Event: live.EventLog, Data: fmt.Appendf(nil, `{"source":"stdout","data":%q}`, text),
	}
}

// wantProgress waits for what the follower has passed on.
func (h *handServer) wantProgress(output, logs string) {
	h.t.Helper()
	got := func() string { rec := h.p.Record(); return string(rec.Output) + " " + string(rec.Logs) }
	assert.Eventually(h.t, "it has "+output+" "+logs, func() bool { return got() == output+" "+logs },
		func() any { return got() })
}

// TestFollower_LostEventsAreAskedForOnce, however many follow them, and what it had comes once.
func TestFollower_LostEventsAreAskedForOnce(t *testing.T) {
	h := newRig(t).follow()
	h.start()
	first := h.request()
	h.send(first, live.Event{Number: 1, Event: live.EventStart}, logEvent(2, "a"), outputEvent(3, 0))
	for index := range uint64(20) { // the log that is number 4 is lost
		h.send(first, outputEvent(5+index, 1+index))
	}
	second := h.request()
	if got := second.Header.Get("Pinion-Had"); got != "1 3" || second.Reply == first.Reply {
		t.Errorf("it asks for events after %q at %s, want after 1 3, and not at %s", got, second.Reply, first.Reply)
	}
	h.send(first, logEvent(25, "late"))
	h.send(second, outputEvent(3, 0), logEvent(4, "b"), outputEvent(5, 1), logEvent(6, "c"))
	h.wantProgress("[0,1", "abc")
	n, _, err := h.requests.Pending()
	assert.True(t, n == 0 && err == nil, "got %d requests more, %v, want none", n, err)
}

// TestFollower_EventsThatAreLostForGood: it goes on with those that the server still has, and does not ask again.
func TestFollower_EventsThatAreLostForGood(t *testing.T) {
	h := newRig(t).follow()
	h.start()
	first := h.request()
	h.send(first, live.Event{Number: 1, Event: live.EventStart}, outputEvent(2, 0), outputEvent(4, 2))
	second := h.request()
	h.send(second, outputEvent(9, 7), logEvent(10, "a"), outputEvent(11, 8), logEvent(12, "b"))
	h.wantProgress("[0", "ab")
	n, _, err := h.requests.Pending()
	assert.True(t, n == 0 && err == nil, "got %d requests more, %v, want none", n, err)
}

// TestFollower_RunThatIsLostBeforeItsFirstEvent: when the next run begins, it asks for its events at once.
func TestFollower_RunThatIsLostBeforeItsFirstEvent(t *testing.T) {
	h := newRig(t).follow()
	h.start()
	h.request()
	h.start()
	h.send(h.request(), live.Event{Number: 1, Event: live.EventStart}, outputEvent(2, 0))
	h.wantProgress("[0", "")
}

// TestFollower_OlderServer: it numbers no events and sends all again.
func TestFollower_OlderServer(t *testing.T) {
	h := newRig(t).follow()
	h.start()
	first := h.request()
	h.send(first, live.Event{Event: live.EventStart}, outputEvent(0, 0), outputEvent(0, 2), outputEvent(0, 3))
	second := h.request()
	h.send(second, live.Event{Event: live.EventStart}, outputEvent(0, 0), outputEvent(0, 1), outputEvent(0, 2))
	h.wantProgress("[0,1,2", "")
	n, _, err := h.requests.Pending()
	assert.True(t, n == 0 && err == nil, "got %d requests more, %v, want none", n, err)
}

// TestFollow_SendsWhatAFollowerHasNotHad, with the number of each event.
func TestFollow_SendsWhatAFollowerHasNotHad(t *testing.T) {
	r := newRig(t)
	m, s := r.serve("server")
	req := submission("one", `{"s":"x"}`).Request
	req.Mode = predict.Sync
	p := assert.Must(s.Create(req))(t)
	defer p.Release()
	p.Begin(time.Now())
	for range 5 {
		p.Log("stdout", []byte("x"))
	}
	var numbers []uint64
	m.Follow("one", 4, func(e live.Event) bool {
		numbers = append(numbers, e.Number)
		return len(numbers) < 2
	})
	assert.True(t, len(numbers) == 2 && numbers[0] == 5 && numbers[1] == 6, "got the events %v, want 5 and 6", numbers)
	assert.NoError(t, p.Run())
}
