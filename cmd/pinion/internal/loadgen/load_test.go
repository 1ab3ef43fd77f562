package loadgen

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pinion/tests/assert"
)

// TestLoad_BucketsHoldWhatTheySay: each time is at most the top of its bucket, and above that of the one before.
func TestLoad_BucketsHoldWhatTheySay(t *testing.T) {
	for d := time.Duration(1); d > 0 && d < 1<<62; d += d/37 + 1 {
		i := bucket(d)
		assert.TrueNow(t, top(i) >= d && (i <= 0 || top(i-1) < d),
			"%d is in bucket %d, which is from %d to %d, want it within", d, i, top(i-1)+1, top(i))
		if got := float64(top(i)); got > 1.016*float64(d) {
			t.Fatalf("%d counts as %d: got %v, want at most %v", d, top(i), got, 1.016*float64(d))
		}
	}
}

func TestLoad_Quantiles(t *testing.T) {
	var h, other Histogram
	assert.True(t, h.Quantile(0.5) == 0 && h.Bars(5) == nil, "an empty histogram has times, want Quantile 0 and Bars nil")
	for i := 1; i <= 1000; i++ {
		to := &h
		if i%2 == 0 {
			to = &other
		}
		to.Add(time.Duration(i) * time.Millisecond)
	}
	h.Merge(&other)
	for q, want := range map[float64]time.Duration{
		0.001: time.Millisecond, 0.5: 500 * time.Millisecond,
		0.99: 990 * time.Millisecond, 1: time.Second,
	} {
		got := h.Quantile(q)
		assert.True(t, got >= want && float64(got) <= 1.016*float64(want),
			"the quantile %g is %s, not %s, want at least %v and float64(got) at most %v", q, got, want, want, 1.016*float64(want))
	}
	var n uint64
	for _, bar := range h.Bars(8) {
		n += bar.Count
	}
	assert.Equal(t, "n", n, 1000)
	assert.Equal(t, "max", h.Max(), time.Second)
	assert.Equal(t, "sum", h.Sum(), 500500*time.Millisecond)
}

func TestLoad_AnswersAreRead(t *testing.T) {
	for body, want := range map[string]string{
		`{"output":1,"metrics":{"predict_time":0.25},"status":"succeeded"}`: "250ms",
		`{"status":"failed","error":"no"}`:                                  "0s the prediction failed",
		`{"output":"\"status\":\"failed\"","status":"succeeded"}`:           "0s",
		`[1]`: "0s",
	} {
		predicted, failure := Read([]byte(body))
		got := predicted.String()
		if failure != "" {
			got += " " + failure
		}
		assert.Equal(t, body, got, want)
	}
}

// TestLoad_ClosedLoop: no more requests are in flight than there are connections, and failures are counted by kind.
func TestLoad_ClosedLoop(t *testing.T) {
	var asked, now, most atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if asked.Add(1)%4 == 0 {
			w.WriteHeader(http.StatusConflict)
			return
		}
		fmt.Fprint(w, `{"status":"succeeded","metrics":{"predict_time":0.001}}`)
	}))
	defer server.Close()
	r := Run(Options{URL: server.URL, Connections: 3, Warmup: 20 * time.Millisecond, Length: 200 * time.Millisecond})
	assert.True(t, most.Load() <= 3, "%d were asked at once, want at most 3", most.Load())
	good, failed := r.Times.Count(), r.Failures["HTTP status 409"]
	assert.True(t, good != 0 && failed != 0 && failed == r.Failed() && good+failed <= uint64(asked.Load()),
		"got %d good, failures %v of %d, want some of each, and every one counted once", good, r.Failures, asked.Load())
	assert.True(t, r.Predicted == time.Duration(good)*time.Millisecond && r.InTime <= good && r.Rate() > 0,
		"got %s in the model for %d, %d in time, want a millisecond for each", r.Predicted, good, r.InTime)
}

// TestLoad_StopEnds a run long before its length; TestLoad_NoServerThere reports the failures.
func TestLoad_StopEnds(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-stop:
		default:
			close(stop)
		}
		fmt.Fprint(w, "{}")
	}))
	defer server.Close()
	assert.Equal(t, "asked", Run(Options{URL: server.URL, Length: time.Hour, Stop: stop}).Times.Count(), 1)
}

func TestLoad_NoServerThere(t *testing.T) {
	ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	ln.Close()
	r := Run(Options{URL: "http://" + ln.Addr().String(), Length: 50 * time.Millisecond})
	assert.True(t, r.Times.Count() == 0 && r.Failed() != 0,
		"%d answers and the failures %v, want Count 0 and Failed not 0", r.Times.Count(), r.Failures)
}

// TestLoad_OpenLoopPaysForStop: a server that answers nothing for a second adds that second to the requests that were
// due meanwhile.
func TestLoad_OpenLoopPaysForStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &part{generator: &generator{Options: Options{Rate: 10}}, begin: time.Now(), end: time.Now().Add(2 * time.Second)}
		var own Result
		var got []time.Duration
		for {
			from, ok := p.claimStart(&own)
			if !ok {
				break
			}
			if len(got) == 4 {
				time.Sleep(time.Second) // the answer that takes so long
			}
			got = append(got, time.Since(from))
		}
		if len(got) != 20 || got[3] != 0 || got[4] != time.Second || got[5] != 900*time.Millisecond ||
			got[13] != 100*time.Millisecond || got[19] != 0 || own.Late != 9 {
			t.Errorf("got %d late, %v, want 9 late of 20, from 1 s down to 0 in steps of 100 ms", own.Late, got)
		}
	})
}
