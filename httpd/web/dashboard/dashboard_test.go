package dashboard

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

func newView(t *testing.T, o Options) *View {
	t.Helper()
	set := metrics.New(metrics.Options{})
	if o.Figures == nil {
		o.Figures = set.Figures
	}
	o.Load = func() metrics.Load { return metrics.Load{} }
	o.State = func() State { return State{Status: "READY"} }
	if o.Overview == nil {
		o.Overview = func(int) predict.Overview { return predict.Overview{} }
	}
	v := New(o)
	t.Cleanup(v.Close)
	return v
}

// TestDashboard_Events: the first two events say everything, a part that has not changed is left out, and Close ends
// them.
func TestDashboard_Events(t *testing.T) {
	v := newView(t, Options{Model: "fox"})
	f := v.follow()
	if text := string(<-f); !strings.HasPrefix(text, "event: hello\ndata: {\"model\":\"fox\"") {
		t.Fatalf("the first event is %s, want it to start with %q", text, "event: hello\ndata: {\"model\":\"fox\"")
	}
	text := string(<-f)
	assert.TrueNow(t, strings.Contains(text, `"state":{"status":"READY"`) && strings.Contains(text, `"predictions":{`),
		"the second event is %s, want it with %q and with %q", text, `"state":{"status":"READY"`, `"predictions":{`)
	if text := string(<-f); !strings.Contains(text, `"point":[`) || strings.Contains(text, `"state":{`) {
		t.Fatalf("the third event is %s, want it with %q and without %q", text, `"point":[`, `"state":{`)
	}
	v.Close()
	for range f {
	}
	got := v.follow()
	assert.True(t, got == nil, "a closed view has a follower: got %v, want nil", got)
}

// TestDashboard_EventsAreCharged: what a follower was not sent counts in the memory budget, which may refuse one more.
func TestDashboard_EventsAreCharged(t *testing.T) {
	budget := memory.New(16 << 20)
	v := newView(t, Options{Model: strings.Repeat("x", 9<<20), Memory: budget})
	f := v.follow()
	assert.True(t, budget.Stats().Used > 9<<20, "charged: got %d, want more than the first event's 9 MiB", budget.Stats().Used)
	second := v.follow()
	assert.True(t, second == nil, "there is room for a second follower, want none")
	v.leave(f)
	assert.Equal(t, "charged after it left", budget.Stats().Used, 0)
	third := v.follow()
	assert.True(t, third != nil, "no room for a follower after the first left")
	v.leave(third)
}

// TestHistory_RatesAndQuantiles: rates and quantiles are those of what came since.
func TestHistory_RatesAndQuantiles(t *testing.T) {
	set, h, now := metrics.New(metrics.Options{}), history{}, time.Unix(1000, 0)
	h.add(sample{now, set.Figures()}, metrics.Load{})
	for range 100 {
		set.Ended(predict.End{
			Status: predict.Succeeded,
			Times:  predict.Times{Total: 20 * time.Millisecond, Predict: 15 * time.Millisecond},
		})
	}
	set.Refused(predict.KindPrediction, predict.Sync, predict.ReasonCapacity)
	set.Webhook("completed", "failed")
	set.Webhook("completed", "delivered")
	p, ok := h.add(sample{now.Add(2 * time.Second), set.Figures()}, metrics.Load{InFlight: 3, Queued: 1})
	if !ok || p.succeeded != 50 || p.refused != 0.5 || p.inFlight != 3 || p.p50 < 0.01 || p.p50 > 0.025 || p.p99 <= p.p50 {
		t.Errorf("got the point %+v, want 50 good, half of a refusal, 3 in flight, and p99 above p50", p)
	}
	if r := recentOf(h.since(1)); r.Webhooks != 1 || len(r.Batches) != 0 {
		t.Errorf("got %d undelivered webhooks and batches %v, want 1 and none", r.Webhooks, r.Batches)
	}
	set.Batch(2, 0)
	set.MethodBatch("decode", 3, 0, time.Millisecond)
	set.MethodBatch("decode", 4, 0, time.Millisecond)
	h.add(sample{now.Add(3 * time.Second), set.Figures()}, metrics.Load{})
	got, err := json.Marshal(recentOf(h.since(1)).Batches)
	const want = `[{"method":"","count":1,"mean":2,"sizes":[[2,1]]},{"method":"decode","count":2,"mean":3.5,"sizes":[[4,2]]}]`
	assert.NoError(t, err)
	assert.Equal(t, "sizes of batches: text", string(got), want)
	p, _ = h.add(sample{now.Add(20 * time.Second), set.Figures()}, metrics.Load{})
	for range shortly {
		now = now.Add(time.Second)
		p, _ = h.add(sample{now.Add(20 * time.Second), set.Figures()}, metrics.Load{})
	}
	assert.True(t, p.succeeded == 0 && math.IsNaN(p.p50), "without predictions the point is %+v, want succeeded 0 and p50 NaN", p)
}

// TestHistory_QuantilesOfFew: no quantile of a few times exceeds the longest of them, far below the bucket's bound.
func TestHistory_QuantilesOfFew(t *testing.T) {
	set, h, now := metrics.New(metrics.Options{}), history{}, time.Unix(1000, 0)
	h.add(sample{now, set.Figures()}, metrics.Load{})
	for range 5 {
		set.Ended(predict.End{Status: predict.Succeeded, Times: predict.Times{Total: time.Millisecond}})
	}
	const longest = 12200 * time.Millisecond
	set.Ended(predict.End{Status: predict.Canceled, Times: predict.Times{Total: longest}})
	p, _ := h.add(sample{now.Add(time.Second), set.Figures()}, metrics.Load{})
	assert.True(t, p.p50 <= 0.001 && p.p99 >= 10 && p.p99 <= longest.Seconds()+0.01,
		"got p50 %v s and p99 %v s, want at most 1 ms, and 10 to 12.2 s", p.p50, p.p99)
}

// TestHistory_Usual: the usual time is that of predictions that succeeded, without their queue, and stays known while
// none ends.
func TestHistory_Usual(t *testing.T) {
	set, h, now := metrics.New(metrics.Options{}), history{}, time.Unix(1000, 0)
	h.add(sample{now, set.Figures()}, metrics.Load{})
	assert.True(t, math.IsNaN(h.usual), "before the first prediction it is %v, want NaN", h.usual)
	set.Ended(predict.End{
		Status: predict.Succeeded,
		Times:  predict.Times{Total: 30 * time.Second, Queue: 29 * time.Second, Predict: 15 * time.Millisecond},
	})
	set.Ended(predict.End{Status: predict.Canceled, Times: predict.Times{Total: time.Hour, Predict: time.Hour}})
	set.Ended(predict.End{
		Status: predict.Failed, Reason: predict.ReasonTimeout,
		Times: predict.Times{Total: time.Minute, Queue: time.Minute},
	})
	for i := range kept + minute {
		h.add(sample{now.Add(time.Duration(1+i) * time.Second), set.Figures()}, metrics.Load{})
	}
	assert.True(t, h.usual >= 0.01 && h.usual <= 0.025, "long after the last prediction it is %v s, want about 0.02", h.usual)
}

// TestHistory_Streams: of streams, the rate of items and the time to the first are those of what came since.
func TestHistory_Streams(t *testing.T) {
	set, h, now := metrics.New(metrics.Options{}), history{}, time.Unix(1000, 0)
	h.add(sample{now, set.Figures()}, metrics.Load{})
	h.add(sample{now.Add(time.Second), set.Figures()}, metrics.Load{})
	if r := recentOf(h.since(1)); r.Items != nil {
		t.Errorf("without streams: got %v items a second, want none", r.Items)
	}
	set.FirstOutput(200*time.Millisecond, nil)
	for range 39 {
		set.NextOutput(10 * time.Millisecond)
	}
	h.add(sample{now.Add(3 * time.Second), set.Figures()}, metrics.Load{})
	r := recentOf(h.since(1))
	first, _ := r.First50.(float64)
	assert.True(t, r.Items == 20.0 && first >= 0.1 && first <= 0.25 && r.Next == 0.01,
		"got %v items a second, first %v, next %v; want 20, about 0.2, 0.01", r.Items, r.First50, r.Next)
}

// TestDashboard_Content: input and output are shown only where Content is set.
func TestDashboard_Content(t *testing.T) {
	find := func(predict.Kind, string) (*predict.Prediction, predict.Record, bool) {
		p := predict.New("a", &predict.Request{}, time.Now(), nil, predict.Options{})
		return p, predict.Record{
			ID: "a", Input: []byte(`{"x":1}`),
			Progress: predict.Progress{Output: []byte(`["y"`), Open: true, Logs: []byte("l\xff")},
		}, true
	}
	for _, content := range []bool{false, true} {
		v := newView(t, Options{Content: content, Find: find, Locate: func(*predict.Summary) {}})
		var ctx fasthttp.RequestCtx
		ctx.Request.SetRequestURI("/dashboard/prediction?kind=prediction&id=a")
		v.prediction(&ctx)
		if !json.Valid(ctx.Response.Body()) || bytes.Contains(ctx.Response.Body(), []byte(`"output":["y"]`)) != content ||
			bytes.Contains(ctx.Response.Body(), []byte(`"x"`)) != content {
			t.Errorf("with content %v: got %s, want JSON with input and output only if content is shown", content,
				ctx.Response.Body())
		}
	}
}

func TestDashboard_TraceID(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for parent, want := range map[string]string{
		"00-" + id + "-00f067aa0ba902b7-01": id, "": "", "00-" + strings.ToUpper(id) + "-1-01": "",
		"00-" + strings.Repeat("0", 32) + "-1-01": "",
	} {
		assert.Equal(t, parent, traceID(parent), want)
	}
}

// TestDashboard_Page: it has each script once, and nothing that would run text as HTML.
func TestDashboard_Page(t *testing.T) {
	v := newView(t, Options{Model: "a <b>"})
	var ctx fasthttp.RequestCtx
	v.Page(nil)(&ctx)
	body := ctx.Response.Body()
	for _, text := range []string{
		`src="http`, `href="http`, "@import", "innerHTML", "eval(", "document.write",
		"insertAdjacentHTML", "a <b>",
	} {
		assert.False(t, bytes.Contains(body, []byte(text)), "the page has %q: got %.300q, want no %q in it", text, body, []byte(text))
	}
	entries := assert.Must(scripts.ReadDir("scripts"))(t)
	var there []string
	for _, e := range entries {
		there = append(there, strings.TrimSuffix(e.Name(), ".js"))
	}
	assert.EqualSlices(t, "the folder", there, slices.Sorted(slices.Values(scriptNames())))
}
