package predict

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/runtime/memory"
	"pinion/tests/assert"
)

func enter(t *testing.T, r *Registry, kind Kind, id string) *Prediction {
	t.Helper()
	p := New(id, &Request{ID: id, Kind: kind}, epoch, nil, Options{Memory: r.all.retention.Memory})
	assert.NoError(t, r.Add(p))
	return p
}

// end ends a prediction with an output of so many bytes, and releases it.
func end(r *Registry, p *Prediction, bytes int) {
	r.Finish(p, recordCost+bytes, time.Now())
	p.End(Result{Status: Succeeded, Output: make([]byte, bytes)}, time.Now())
	p.Release()
}

// TestRetention_EndedAreRetained for their TTL, and no longer; their ids are free at once.
func TestRetention_EndedAreRetained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Retention{TTL: time.Minute})
		p := enter(t, r, KindPrediction, "a")
		idle := r.Idle()
		select {
		case <-idle:
			t.Error("got one in flight")
		default:
		}
		end(r, p, 10)
		<-idle
		flies, found := r.Get(KindPrediction, "a"), r.Find(KindPrediction, "a")
		assert.True(t, flies == nil && found == p && r.Len() == 0 && len(r.All()) == 0,
			"got %v in flight and %v found, want none and the ended one", flies, found)
		time.Sleep(59 * time.Second)
		again := enter(t, r, KindPrediction, "a")
		assert.Equal(t, `r.Find(KindPrediction, "a")`, r.Find(KindPrediction, "a"), again)
		assert.Equal(t, `r.Get(KindPrediction, "a")`, r.Get(KindPrediction, "a"), again)
		time.Sleep(2 * time.Second)
		assert.Equal(t, "the prediction, of which only the old one was removed", r.Find(KindPrediction, "a"), again)
		end(r, again, 10)
		time.Sleep(61 * time.Second)
		synctest.Wait()
		assert.True(t, r.all.bytes == 0 && len(r.by) == 0 && r.Find(KindPrediction, "a") == nil,
			"%d bytes, %d entries are left, want bytes 0, len(by) empty and Find nil", r.all.bytes, len(r.by))
	})
}

// TestRetention_IsBounded in number and in bytes.
func TestRetention_IsBounded(t *testing.T) {
	const most = 200 * recordCost
	r := NewRegistry(Retention{TTL: time.Hour, Count: 100, Bytes: most})
	defer r.Close()
	for i := range 1000 {
		end(r, enter(t, r, KindPrediction, fmt.Sprint(i)), 1)
	}
	assert.True(t, len(r.by) == 100 && r.Find(KindPrediction, "899") == nil && r.Find(KindPrediction, "900") != nil,
		"%d are retained, want the last 100", len(r.by))
	end(r, enter(t, r, KindPrediction, "big"), most-51*recordCost)
	assert.True(t, r.Find(KindPrediction, "big") != nil && r.all.bytes <= most && len(r.by) >= 49 && len(r.by) <= 51,
		"%d bytes in %d are retained, want the big one and as many as fit into %d", r.all.bytes, len(r.by), most)
	end(r, enter(t, r, KindPrediction, "huge"), most)
	huge, big := r.Find(KindPrediction, "huge"), r.Find(KindPrediction, "big")
	assert.True(t, huge == nil && big != nil,
		"got huge %p and big %p, want big alone: one that never fits drives no other out", huge, big)
	r.Close()
	assert.Equal(t, "number of kept predictions", len(r.by), 0)
	assert.Equal(t, "kept bytes", r.all.bytes, 0)
}

// TestRetention_AnonymousOnesAreFew: they do not drive the others out.
func TestRetention_AnonymousOnesAreFew(t *testing.T) {
	r := NewRegistry(Retention{Anonymous: 10})
	defer r.Close()
	end(r, enter(t, r, KindPrediction, "named"), 1)
	for i := range 1000 {
		p := New(fmt.Sprint(i), &Request{}, epoch, nil, Options{})
		assert.NoError(t, r.Add(p))
		end(r, p, 1)
	}
	assert.True(t, len(r.by) == 11 && r.Find(KindPrediction, "named") != nil && r.Find(KindPrediction, "990") != nil,
		"%d are retained, want the last ten and the named one", len(r.by))
	n := cap(r.retained[0].entries)
	assert.True(t, n <= 512, "the list of retained results has %d places, want at most 512", n)
}

func TestRetention_KindsHaveTheirOwnIDs(t *testing.T) {
	r := NewRegistry(Retention{TTL: -1})
	p, q := enter(t, r, KindPrediction, "a"), enter(t, r, KindTraining, "a")
	assert.Equal(t, `r.Get(KindPrediction, "a")`, r.Get(KindPrediction, "a"), p)
	assert.Equal(t, `r.Get(KindTraining, "a")`, r.Get(KindTraining, "a"), q)
	assert.Equal(t, "length", r.Len(), 2)
	end(r, p, 0)
	assert.True(t, r.Find(KindPrediction, "a") == nil && r.Find(KindTraining, "a") == q,
		"got %p and %p, want none and %p", r.Find(KindPrediction, "a"), r.Find(KindTraining, "a"), q)
}

// TestRetention_RetainedBytesCount: output, error, logs, metrics and the input, for each status; the rest of the body
// is freed.
func TestRetention_RetainedBytesCount(t *testing.T) {
	const size = 10_000
	text := bytes.Repeat([]byte("x"), size)
	item := slices.Concat([]byte{'"'}, text, []byte{'"'})
	for what, c := range map[string]struct {
		before func(p *Prediction)
		end    Result
	}{
		"yielded":           {func(p *Prediction) { p.Output(item) }, Result{Status: Succeeded, Yielded: true}},
		"yielded, canceled": {func(p *Prediction) { p.Output(item) }, Result{Status: Canceled}},
		"yielded, failed":   {func(p *Prediction) { p.Output(item) }, Result{Status: Failed, Error: "x"}},
		"returned":          {nil, Result{Status: Succeeded, Output: item}},
		"the error":         {nil, Result{Status: Failed, Error: string(text)}},
		"logs":              {func(p *Prediction) { p.Log("stdout", text) }, Result{Status: Succeeded}},
		"logs with the end": {nil, Result{Status: Succeeded, Logs: text}},
		"metrics":           {nil, Result{Status: Succeeded, Metrics: item}},
		"the traceparent":   {func(p *Prediction) { p.Request.TraceParent = string(item) }, Result{Status: Succeeded}},
		"the input":         {func(p *Prediction) { p.Request.Input = item }, Result{Status: Succeeded}},
		"yielded in 10 000s": {
			func(p *Prediction) { times(size/2, func() { p.Output([]byte("1")) }) },
			Result{Status: Succeeded, Yielded: true},
		},
	} {
		b := memory.New(1 << 30)
		r := NewRegistry(Retention{Memory: b})
		p := New("a", &Request{ID: "a", Body: make([]byte, 1<<20), Context: text, Webhook: string(text)}, epoch, nil,
			Options{Memory: b})
		assert.NoError(t, r.Add(p))
		assert.TrueNow(t, p.Reserve(), "%s: Reserve", what)
		if c.before != nil {
			c.before(p)
		}
		r.Finish(p, 0, time.Now())
		p.End(c.end, time.Now())
		output := bytes.Clone(p.Record().Output)
		p.Release()
		got := b.Stats().Used
		assert.True(t, got >= size && got <= size+3*recordCost, "%s: got %d bytes charged, want %d and little more", what, got, size)
		assert.Equal(t, what+": bytes of the registry", int64(r.all.bytes), got)
		assert.True(t, p.Request.Body == nil && p.Request.Context == nil && p.Request.Webhook == "",
			"%s: got %+v retained, want Body nil, Context nil and Webhook empty", what, p.Request)
		assert.Equal(t, what+": the output", string(p.Record().Output), string(output))
		r.Close()
		assert.Equal(t, what+": bytes stay", b.Stats().Used, 0)
	}
}

func times(n int, do func()) {
	for range n {
		do()
	}
}

// TestRetention_OthersDriveEndedOut: the oldest first, and not what is being looked at.
func TestRetention_OthersDriveEndedOut(t *testing.T) {
	const item = 1 << 20
	b := memory.New(32 << 20)
	r := NewRegistry(Retention{Memory: b})
	defer r.Close()
	for i := range 7 {
		end(r, enter(t, r, KindPrediction, fmt.Sprint(i)), item)
	}
	looked := r.Find(KindPrediction, "0")
	assert.TrueNow(t, looked.TryHold(), "TryHold: got false, want the retained prediction held")
	assert.TrueNow(t, b.Take(23<<20, 23<<20), "Take: got false, want the memory of ended predictions given up")
	if r.Find(KindPrediction, "0") != nil || r.Find(KindPrediction, "3") != nil || r.Find(KindPrediction, "4") == nil {
		t.Errorf("%d are left, want all but the oldest four", len(r.by))
	}
	s := b.Stats()
	assert.True(t, s.Evictions == 4 && s.Used <= 28<<20, "%+v, want Evictions 4 and Used at most %d", s, 28<<20)
	assert.Equal(t, "bytes of output", len(looked.Record().Output), item)
	before := b.Stats().Used
	looked.Release()
	freed := before - b.Stats().Used
	assert.True(t, freed >= item, "its end freed %d bytes, want at least %d", freed, item)
}

// TestReserve_WebhookIsCharged with what its URL takes.
func TestReserve_WebhookIsCharged(t *testing.T) {
	b := memory.New(16 << 20)
	r := NewRegistry(Retention{Memory: b})
	defer r.Close()
	url := "http://x/" + strings.Repeat("x", 15_000)
	p := New("a", &Request{Webhook: url}, time.Now(), nil, Options{Memory: b})
	assert.TrueNow(t, p.Reserve(), "Reserve: got false, want true")
	assert.Equal(t, "bytes charged", p.Charged(), int64(startCost+webhookCost+2*len(url)))
	p.Release()
}

// TestRetention_OneThatDoesNotFitEnds: with an error that stays to be found, and leaves the others alone.
func TestRetention_OneThatDoesNotFitEnds(t *testing.T) {
	b := memory.New(16 << 20)
	r := NewRegistry(Retention{Memory: b})
	defer r.Close()
	p := enter(t, r, KindPrediction, "a")
	assert.TrueNow(t, p.Reserve(), "Reserve: got false, want true")
	item := bytes.Repeat([]byte("x"), 1<<20)
	n := 0
	for p.Output(item) {
		n++
	}
	assert.True(t, n >= 6 && n <= 14 && p.OverBudget() && !p.Output([]byte("1")),
		`it yielded %d MiB into 16 MiB, want n 6 to 14, OverBudget true and p.Output([]byte("1")) false`, n)
	small := enter(t, r, KindPrediction, "b")
	assert.True(t, small.Reserve() && small.Output([]byte("1")), "Reserve or Output: got false, want room for a small prediction")
	r.Finish(p, 0, time.Now())
	p.End(Result{Status: Failed, Error: "too much"}, time.Now())
	p.Release()
	ended := r.Find(KindPrediction, "a")
	assert.True(t, ended != nil && ended.Record().Error == "too much" && ended.Record().Output == nil,
		`%v is retained, want Error "too much" and Output nil`, ended)
}

// TestRetention_NearlyFullCopiesLittle: a prediction that nearly fills the budget by small items ends soon: its output is
// not copied for each of them.
func TestRetention_NearlyFullCopiesLittle(t *testing.T) {
	b := memory.New(64 << 20)
	p := observed(Options{Memory: b})
	item := bytes.Repeat([]byte("x"), 8<<10)
	copies, room := 0, 0
	for p.Output(item) {
		if now := cap(p.record.Output); now != room {
			copies, room = copies+1, now
		}
	}
	assert.True(t, copies <= 100 && p.Charged() > 40<<20,
		"%d copies and %d bytes charged, want at most 100 copies and more than 40 MiB", copies, p.Charged())
}

// TestRetention_LogsAreCutWhereThereIsNoRoom rather than that their prediction ends.
func TestRetention_LogsAreCutWhereThereIsNoRoom(t *testing.T) {
	const limit = 16 << 20
	b := memory.New(limit)
	p := New("a", &Request{ID: "a"}, epoch, nil, Options{Memory: b})
	for range 20 {
		p.Log("stdout", make([]byte, 1<<20))
	}
	p.End(Result{Status: Succeeded}, time.Now())
	logs := string(p.Record().Logs)
	if len(logs) > limit || !strings.Contains(logs[len(logs)-200:], "bytes of log were cut") {
		t.Errorf("got %d bytes of log, ending in %q, want at most %d and a notice of the rest", len(logs),
			logs[max(0, len(logs)-200):], limit)
	}
	used := b.Stats().Used
	assert.True(t, used <= limit, "%d bytes are used, want at most %d", used, limit)
}

// TestRetention_QuietRegistriesShrink: to the newest after Quiet, and call OnQuiet.
func TestRetention_QuietRegistriesShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := NewRegistry(Retention{Quiet: time.Minute, QuietBytes: 3 << 20, OnQuiet: func() { calls++ }})
		defer r.Close()
		for i := range 10 {
			end(r, enter(t, r, KindPrediction, fmt.Sprint(i)), 1<<20)
		}
		for range 5 {
			time.Sleep(50 * time.Second)
			assert.TrueNow(t, r.Find(KindPrediction, "0") != nil, "Find: got nil, want the prediction that is held")
		}
		running := enter(t, r, KindPrediction, "running")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.EqualNow(t, "number of kept predictions", len(r.by), 11)
		assert.EqualNow(t, "calls", calls, 0)
		end(r, running, 0)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, "runs of OnQuiet", calls, 1)
		for id, want := range map[string]bool{"7": false, "8": true, "running": true} {
			assert.Equal(t, "that it has "+id, r.Find(KindPrediction, id) != nil, want)
		}
	})
}

// TestRetained_BoundsRegistriesTogether: by count, bytes and quiet, the oldest first, and not what a closed one had.
func TestRetained_BoundsRegistriesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		shared := NewRetained(Retention{
			Count: 8, Bytes: 6 << 20, Quiet: time.Minute, QuietBytes: 3 << 20, OnQuiet: func() { calls++ },
		})
		a, b := NewRegistry(Retention{Shared: shared}), NewRegistry(Retention{Shared: shared, TTL: time.Hour})
		want := func(what string, wantA, wantB int) {
			t.Helper()
			assert.Equal(t, what+": kept by the first", len(a.by), wantA)
			assert.Equal(t, what+": kept by the second", len(b.by), wantB)
		}
		for i := range 6 {
			end(a, enter(t, a, KindPrediction, fmt.Sprint(i)), 0)
			end(b, enter(t, b, KindPrediction, fmt.Sprint(i)), 0)
			time.Sleep(time.Second)
		}
		want("eight in all", 4, 4)
		for i := range 5 {
			end(b, enter(t, b, KindPrediction, fmt.Sprint("large", i)), 1<<20)
		}
		want("the oldest three of both, and two of the others", 1, 7)
		running := enter(t, a, KindPrediction, "running")
		time.Sleep(5 * time.Minute)
		assert.Equal(t, "runs of OnQuiet while one of the models is busy", calls, 0)
		end(a, running, 0)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, "runs of OnQuiet once all are idle", calls, 1)
		want("the newest 3 MiB", 1, 2)
		b.Close()
		assert.True(t, shared.bytes < 1<<20 && shared.oldest().of == a, "%d bytes are kept, want those of the open registry",
			shared.bytes)
		a.Close()
		assert.Equal(t, "bytes kept", shared.bytes, 0)
	})
}

// TestRetention_EventsDoNotKeepOldMemory: as the output grows it moves, and what followers may still get must not hold
// all its former places.
func TestRetention_EventsDoNotKeepOldMemory(t *testing.T) {
	p := New("a", &Request{Mode: Stream}, epoch, nil, Options{})
	s := assert.Must(p.Subscribe())(t)
	defer s.Close()
	for i := range 500 {
		p.Output(fmt.Appendf(nil, `"%0400d"`, i))
	}
	for i := range p.events.feed.ring {
		assert.TrueNow(t, p.events.feed.ring[i].Data == nil,
			"got %d bytes in an output event, want none: the record has them", len(p.events.feed.ring[i].Data))
	}
	events := assert.Must(s.Next(make([]Event, 0, 1000), nil))(t)
	assert.EqualNow(t, "number of events", len(events), 500)
	for i, e := range events {
		assert.EqualNow(t, fmt.Sprintf("event %d", i), string(e.Data), fmt.Sprintf(`"%0400d"`, i))
	}
	p.End(Result{Status: Succeeded, Yielded: true}, time.Now())
}
