package jobqueue

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// slowVersion is a model that creates predictions once create is closed.
type slowVersion struct {
	oneVersion

	create <-chan struct{}
	found  *atomic.Bool // a prediction was looked up and found
}

func (l slowVersion) Find(kind predict.Kind, id string) *predict.Prediction {
	p := l.oneVersion.Find(kind, id)
	if p != nil {
		l.found.Store(true)
	}
	return p
}

func (l slowVersion) AcquireSlot(version string) Slot {
	if slot := l.oneVersion.AcquireSlot(version); slot != nil {
		return slowSlot{slot, l.create}
	}
	return nil
}

type slowSlot struct {
	Slot

	create <-chan struct{}
}

func (s slowSlot) Assign(req predict.Request) (*predict.Prediction, error) {
	<-s.create
	return s.Slot.Assign(req)
}

// attaches counts the requests for events that members send.
func (r *rig) attaches() func() int {
	r.t.Helper()
	nc := assert.Must(nats.Connect(r.url))(r.t)
	r.t.Cleanup(nc.Close)
	sub := assert.Must(nc.SubscribeSync("pinion.attach.m.>"))(r.t)
	assert.NoError(r.t, nc.Flush())
	return func() int {
		n, _, err := sub.Pending()
		assert.NoError(r.t, err)
		return n
	}
}

// TestFollower_AsksOnce though the job was seen to be processing before its server had made a prediction of it.
func TestFollower_AsksOnce(t *testing.T) {
	r := newRig(t)
	create, found := make(chan struct{}), new(atomic.Bool)
	r.serveWith("server", func(l oneVersion) Local { return slowVersion{l, create, found} })
	gateway := r.join("gateway", nil)
	asked := r.attaches()
	_, err := gateway.Accept(submission("one", `{"s":"forever"}`))
	assert.NoError(t, err)
	r.until(gateway, "one", "processing")
	p := assert.Must(gateway.Attach(predict.KindPrediction, "one", true))(t)
	assert.TrueNow(t, p != nil, "got no prediction, want that of the job")
	ended := make(chan error, 1)
	go func() { ended <- p.Run() }()
	assert.Eventually(t, "it asks for the events", func() bool { return asked() > 0 })
	close(create)
	assert.Eventually(t, "its events are sent", found.Load)
	assert.Equal(t, "requests", asked(), 1)
	_, err = gateway.Cancel(predict.KindPrediction, "one")
	assert.NoError(t, err)
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(assert.Timeout):
		t.Fatal("the prediction goes on after its job, want it ended")
	}
	p.Release()
}

// TestFollower_NextRun: the events of another run are asked for once, also if the run before ended.
func TestFollower_NextRun(t *testing.T) {
	now := time.Now()
	f := &follower{attempt: 1, known: 1, lastEvent: now, runEnded: now}
	f.noteAttempt(1)
	assert.True(t, !f.lastEvent.IsZero() && !f.runEnded.IsZero(), "the same run: got %v, %v, want no change", f.lastEvent, f.runEnded)
	f.noteAttempt(2)
	assert.True(t, f.lastEvent.IsZero() && f.runEnded.IsZero(), "the next run: got %v, %v, want that it asks", f.lastEvent, f.runEnded)
	f.lastEvent = now
	f.noteAttempt(2)
	assert.False(t, f.lastEvent.IsZero(), "it asks for the events of one run twice, want once")
}

// TestFollower_LooksOftenUntilTheFirstEvent, if no message tells it of the end: the job may have ended before it asked.
func TestFollower_LooksOftenUntilTheFirstEvent(t *testing.T) {
	for _, c := range []struct {
		f       follower
		running bool
		want    time.Duration
	}{
		{follower{}, false, startCheckInterval},
		{follower{}, true, startCheckInterval},
		{follower{attempt: 1}, true, checkInterval},
		{follower{reply: "a"}, true, checkInterval},
		{follower{attempt: 1, runEnded: time.Now()}, true, endCheckInterval},
	} {
		got := c.f.nextCheck(c.running)
		assert.True(t, got == c.want, "attempt %d, reply %q, running %t: got %v, want %v", c.f.attempt, c.f.reply, c.running, got, c.want)
	}
}

// events collects what a function sends.
func events(follow func(send func(live.Event) bool)) (all []live.Event) {
	follow(func(e live.Event) bool {
		all = append(all, e)
		return true
	})
	return all
}

// TestFollow_RunHasEnded: a request that comes too late gets the end.
func TestFollow_RunHasEnded(t *testing.T) {
	r := newRig(t)
	m, s := r.serve("server")
	got := events(func(send func(live.Event) bool) { m.Follow("unknown", 0, send) })
	assert.EqualNow(t, "events of a job", len(got), 1)
	assert.Equal(t, "a job: first event", got[0].Event, live.EventEnd)

	direct := submission("direct", `{"s":"x"}`).Request
	direct.Mode = predict.Sync
	p := assert.Must(s.Create(direct))(t)
	assert.NoError(t, p.Run())
	p.Release()
	_, rec, ok := s.Result(predict.KindPrediction, "direct")
	assert.TrueNow(t, ok, "the prediction is not retained, want it")
	created := readObject("direct", m.encode(&rec)).CreatedText
	lookup := live.Lookup{Kind: state.Prediction, ID: "direct", Created: created}
	got = events(func(send func(live.Event) bool) { m.FollowDirect(lookup, 0, send) })
	var object struct{ Status string }
	assert.True(t, len(got) == 1 && json.Unmarshal(got[0].Data, &object) == nil && object.Status == "succeeded",
		"a direct prediction: got %+v, want its end with its object", got)
	for _, other := range []string{"", "2000-01-01T00:00:00Z"} {
		lookup.Created = other
		got := events(func(send func(live.Event) bool) { m.FollowDirect(lookup, 0, send) })
		assert.True(t, len(got) == 0, "created at %q: got %+v, want nothing, for it is another prediction", other, got)
	}
}
