package dashboard

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	maxFollowers = 64
	maxPending   = 8 // events that a follower may lag behind
)

// View is the live view of one server.
type View struct {
	o     Options
	began time.Time
	stop  chan struct{}
	once  sync.Once

	mu        sync.Mutex
	history   history
	followers map[chan []byte]struct{}
	closed    bool
	// The data that the followers were sent last.
	state, predictions []byte
	logged             uint64 // records of the server's log
}

// New returns a view, which samples until Close.
func New(o Options) *View {
	v := &View{o: o, began: time.Now(), stop: make(chan struct{}), followers: map[chan []byte]struct{}{}}
	v.sample(v.began)
	go v.run()
	return v
}

// Close ends the events. It may be called more than once.
func (v *View) Close() {
	v.once.Do(func() { close(v.stop) })
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	for f := range v.followers {
		v.drop(f)
	}
}

func (v *View) run() {
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			v.sample(now)
		case <-v.stop:
			return
		}
	}
}

// sample takes a point, and sends it to the followers.
func (v *View) sample(now time.Time) {
	s := sample{now, v.o.Figures()}
	load := v.o.Load()
	v.mu.Lock()
	defer v.mu.Unlock()
	p, ok := v.history.add(s, load)
	if !ok || len(v.followers) == 0 {
		return
	}
	state, predictions := v.read()
	e := v.figures(now)
	e.Point = p.list()
	if !bytes.Equal(state, v.state) {
		e.State = state
	}
	if !bytes.Equal(predictions, v.predictions) {
		e.Predictions = predictions
	}
	v.state, v.predictions = state, predictions
	e.Log = v.log(v.logged)
	text := event("figures", e)
	for f := range v.followers {
		if len(f) == cap(f) || !v.o.Memory.Take(int64(len(text)), int64(len(text))) {
			v.drop(f) // its client does not read; when it connects again it gets the whole state
			continue
		}
		f <- text
	}
}

// read reads what is not in the history. Called with the lock held, which no other package knows of.
func (v *View) read() (state, predictions []byte) {
	state, _ = json.Marshal(v.o.State())
	o := v.o.Overview(shownPredictions)
	predictions, _ = json.Marshal(overview{rows(o.InFlight), rows(o.Ended), rows(o.Failed)})
	return state, predictions
}

// log returns the records of the server's log after the first n, or nil if there are none. Called with the lock held.
func (v *View) log(n uint64) *newRecords {
	if v.o.Log == nil {
		return nil
	}
	records, last := v.o.Log.Since(n)
	v.logged = last
	if len(records) == 0 {
		return nil
	}
	return &newRecords{last, records}
}

// figures returns the event of this moment. Called with the lock held.
func (v *View) figures(now time.Time) figures {
	latest := v.history.samples[len(v.history.samples)-1].Figures
	e := figures{At: Milliseconds(now), UsualP99: round(v.history.usual), Ended: map[string]any{
		"succeeded": latest.Succeeded, "failed": latest.Failed, "refused": latest.Refused, "canceled": latest.Canceled,
		"reasons": latest.Reasons,
	}}
	if len(v.history.samples) > 1 {
		e.Recent = recentOf(v.history.since(minute))
	}
	return e
}

// follow returns the events of a new follower, of which the first two have the whole state, or nil if there is no room
// for it. They are charged to the memory budget; the caller frees each that was sent, and then leaves.
func (v *View) follow() chan []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed || len(v.followers) >= maxFollowers {
		return nil
	}
	if v.o.Log != nil {
		v.o.Log.Watch()
	}
	f := make(chan []byte, maxPending)
	whole := v.whole()
	if size := int64(len(whole[0]) + len(whole[1])); !v.o.Memory.Take(size, size) {
		v.unwatch()
		return nil
	}
	for _, text := range whole {
		f <- text
	}
	v.followers[f] = struct{}{}
	return f
}

// whole returns the two events that have the whole state. Called with the lock held.
func (v *View) whole() [2][]byte {
	points := make([][]any, len(v.history.points))
	for i := range points {
		points[i] = v.history.points[i].list()
	}
	state, predictions := v.read()
	e := v.figures(time.Now())
	e.State, e.Predictions = state, predictions
	logged := v.logged
	e.Log = v.log(0)
	if len(v.followers) == 0 {
		v.state, v.predictions = state, predictions
	} else {
		v.logged = logged // the other followers still lack these records
	}
	return [2][]byte{event("hello", hello{
		Model: v.o.Model, Versions: v.o.Versions, Began: Milliseconds(v.began), Docs: v.o.Docs, TraceURL: v.o.TraceURL,
		Content: v.o.Content, Keep: v.o.Keep.Seconds(), Columns: columns, Points: points,
	}), event("figures", e)}
}

// leave ends a follower, and frees the events that it was not sent.
func (v *View) leave(f chan []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drop(f)
	for text := range f {
		v.o.Memory.Free(int64(len(text)))
	}
}

// drop ends a follower, once. Called with the lock held.
func (v *View) drop(f chan []byte) {
	if _, there := v.followers[f]; there {
		delete(v.followers, f)
		v.unwatch()
		close(f)
	}
}

func refuse(ctx *fasthttp.RequestCtx, code int, detail string) {
	ctx.SetStatusCode(code)
	answer(ctx, map[string]string{"detail": detail})
}

func answer(ctx *fasthttp.RequestCtx, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		ctx.SetStatusCode(fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}

func (v *View) unwatch() {
	if v.o.Log != nil {
		v.o.Log.Unwatch()
	}
}
