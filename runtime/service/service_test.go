package service

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
	"pinion/tests/assert"
	"pinion/tests/fakeworker"
)

// TestService_Refusals: in each state in which nothing is taken, Create says why.
func TestService_Refusals(t *testing.T) {
	t.Run("no worker", func(t *testing.T) {
		h := build(t, "", 0, "")
		h.until("STARTING")
		h.refused("Setup has not finished yet. Wait until it has finished, or GET /health-check for status.")
		_, ok := h.OpenAPI()
		assert.False(t, ok, "there is a schema already")
	})
	t.Run("in setup", func(t *testing.T) {
		h := build(t, "hangs", 0, "")
		assert.Eventually(t, "setup has begun", func() bool { return h.worker.Status().State == supervise.Setup })
		h.until("STARTING")
		h.refused("Setup has not finished yet.")
		_, ok := h.OpenAPI()
		assert.False(t, ok, "there is a schema before setup has ended")
	})
	t.Run("setup failed", func(t *testing.T) {
		h := build(t, "fails", 5, "")
		h.until("SETUP_FAILED")
		h.refused("Setup has failed: GET /health-check for its logs.")
		got := h.Health()
		assert.Equal(t, "the setup's status", got.Setup.Status, health.SetupFailed)
		for of, want := range map[string]string{"cog": "0.23.0", "python": "3.13.0", "pinion": "test"} {
			assert.Equal(t, "the version of "+of, got.Version[of], want)
		}
	})
	t.Run("defunct", func(t *testing.T) {
		h := ready(t, "good", 0, supervise.Never)
		h.run("deadly", `{"s":"die"}`)
		h.until("DEFUNCT")
		h.refused("The server is defunct, no worker is left: worker exited with code 3 while running this prediction")
	})
	t.Run("a worker restarts", func(t *testing.T) {
		h := ready(t, "good-once", 0, "")
		h.run("deadly", `{"s":"die"}`)
		h.until("STARTING")
		h.refused("The worker is being replaced: worker exited with code 3")
		_, ok := h.OpenAPI()
		assert.True(t, ok, "the schema is gone")
	})
	t.Run("draining", func(t *testing.T) {
		h := ready(t, "good", 5, "")
		h.Drain()
		h.refused("The server is shutting down")
	})
	t.Run("busy", func(t *testing.T) {
		h := ready(t, "good", 0, "")
		p := h.create("long", `{"s":"forever"}`)
		done := waiting(p)
		h.until("BUSY")
		_, err := h.Create(predict.Request{Input: []byte(`{"s":"x"}`)})
		assert.True(t, errors.Is(err, predict.ErrBusy), "got %v, want ErrBusy", err)
		_, err = h.Create(predict.Request{ID: "long", Input: []byte(`{"s":"x"}`)})
		assert.True(t, errors.Is(err, predict.ErrInFlight), "got %v, want ErrInFlight", err)
		assert.Equal(t, "flight", h.InFlight(), 1)
		assert.True(t, h.Cancel(predict.KindPrediction, "long") && !h.Cancel(predict.KindPrediction, "another"),
			"got another answer of Cancel, want true for what is in flight alone")
		err = h.ended(done)
		assert.True(t, err == nil && p.Record().Status == predict.Canceled, "got %v, %+v, want it canceled", err, p.Record())
		h.until("READY")
	})
	t.Run("a full queue", func(t *testing.T) {
		h := ready(t, "good", 1, "")
		first, second := waiting(h.create("one", `{"s":"forever"}`)), waiting(h.create("two", `{"s":"x"}`))
		var full *predict.QueueFullError
		_, err := h.Create(predict.Request{Input: []byte(`{"s":"x"}`)})
		assert.True(t, errors.As(err, &full), "got %v, want a full queue", err)
		h.CancelAll()
		for _, done := range []<-chan error{first, second} {
			assert.ErrorIs(t, "h.ended", h.ended(done), nil)
		}
	})
	t.Run("a wrong input", func(t *testing.T) {
		h := ready(t, "good", 0, "")
		var invalid *predict.ValidationError
		_, err := h.Create(predict.Request{Input: []byte(`{"s":1}`)})
		assert.True(t, errors.As(err, &invalid), "got %v, want a validation error", err)
		_, err = h.Create(predict.Request{})
		assert.True(t, errors.As(err, &invalid) && invalid.Problems[0].Type == predict.TypeMissing,
			"no input: got %v, want a missing field", err)
		assert.Equal(t, "flight", h.InFlight(), 0)
	})
}

func TestService_Prediction(t *testing.T) {
	h := ready(t, "good", 0, "")
	t.Run("succeeds", func(t *testing.T) {
		h.t = t
		got := h.run("a", `{"s":"hello","unknown":1}`)
		if got.ID != "a" || got.Status != predict.Succeeded || string(got.Output) != `{"input":{"s":"hello"}}` ||
			string(got.Metrics) != `{"predict_time":0.5}` || got.Started.IsZero() || got.Completed.Before(got.Started) {
			t.Errorf("got %+v, output %s, want the whole record of a that succeeded", got, got.Output)
		}
		assert.Equal(t, "time from start to end", got.Completed.Sub(got.Started), 500*time.Millisecond)
	})
	t.Run("fails", func(t *testing.T) {
		h.t = t
		got := h.run("b", `{"s":"fail"}`)
		assert.True(t, got.Status == predict.Failed && got.Error == `ValueError: "no"` && got.Output == nil,
			"got %+v, want Status %v, Error %q and Output nil", got, predict.Failed, `ValueError: "no"`)
	})
	t.Run("answers rubbish", func(t *testing.T) {
		h.t = t
		got := h.run("c", `{"s":"rubbish"}`)
		assert.True(t, got.Status == predict.Failed && strings.Contains(got.Error, "cannot be read"),
			`got %+v, want Status %v and Error with "cannot be read"`, got, predict.Failed)
	})
	t.Run("without an id", func(t *testing.T) {
		h.t = t
		assert.Equal(t, "bytes of its id", len(h.run("", `{"s":"x"}`).ID), 26)
	})
	t.Run("of megabytes", func(t *testing.T) {
		h.t = t
		p := h.create("", `{"s":"large"}`)
		assert.NoError(t, h.ended(waiting(p)))
		assert.Equal(t, "mapped bodies while its record is in use", mappings(t), 1)
		assert.Equal(t, "bytes", len(p.Record().Output), ipc.InlineMax+2)
		p.Release()
		assert.Equal(t, "mapped bodies after Release", mappings(t), 0)
	})
	t.Run("kills its worker", func(t *testing.T) {
		h.t = t
		got := h.run("d", `{"s":"die"}`)
		assert.Equal(t, "the status", got.Status, predict.Failed)
		const want = "worker exited with code 3 while running this prediction"
		assert.True(t, strings.HasPrefix(got.Error, want), "got the error %q, want it to begin with %q", got.Error, want)
		h.until("READY")
		h.run("e", `{"s":"x"}`)
	})
}

// TestService_QueueOverRestart: where there is a queue, predictions are taken while a worker restarts.
func TestService_QueueOverRestart(t *testing.T) {
	h := ready(t, "good-once", 5, "")
	h.run("deadly", `{"s":"die"}`)
	h.until("STARTING")
	p := h.create("waits", `{"s":"x"}`)
	done := waiting(p)
	assert.Eventually(t, "it is queued", func() bool { return h.pool.Load().Queued == 1 })
	p.Cancel()
	if err := h.ended(done); err != nil || p.Record().Status != predict.Canceled || !p.Record().Started.IsZero() {
		t.Errorf("got %v, %+v, want Status %v and Started zero", err, p.Record(), predict.Canceled)
	}
}

// TestService_RefusedWhileQueued: when the last worker ends and none will follow, waiting predictions are refused.
func TestService_RefusedWhileQueued(t *testing.T) {
	h := ready(t, "good", 5, supervise.Never)
	first := h.create("first", `{"s":"forever"}`)
	firstDone := waiting(first)
	h.begun()
	second := h.create("second", `{"s":"x"}`)
	secondDone := waiting(second)
	assert.NoError(t, unix.Kill(h.worker.Status().PID, unix.SIGKILL))
	if err := h.ended(firstDone); err != nil || !strings.HasPrefix(first.Record().Error, "worker killed (SIGKILL)") {
		t.Errorf("got %v, %+v, want the error of a worker killed by SIGKILL", err, first.Record())
	}
	var not *predict.NotReadyError
	err := h.ended(secondDone)
	assert.True(t, errors.As(err, &not) && second.Record().Status == predict.Failed,
		"got %v, %+v, want an error of type *predict.NotReadyError and Status %v", err, second.Record(), predict.Failed)
}

// TestService_CancelBeforeWait: between Create and Wait.
func TestService_CancelBeforeWait(t *testing.T) {
	h := ready(t, "good", 0, "")
	p := h.create("a", `{"s":"forever"}`)
	p.Cancel()
	err := h.ended(waiting(p))
	assert.True(t, err == nil && p.Record().Status == predict.Canceled, "got %v, %+v, want it canceled", err, p.Record())
}

// TestService_AnswersThatCannotBeRead: an invalid answer fails its prediction and nothing else.
func TestService_AnswersThatCannotBeRead(t *testing.T) {
	good := map[ipc.Kind]string{
		ipc.KindSucceeded: `{"metrics":{"predict_time":1},"output":[1,2]}`,
		ipc.KindFailed:    `{"metrics":{"predict_time":1},"error":"it \"failed\""}`,
		ipc.KindCanceled:  `{"metrics":{"predict_time":1}}`,
	}
	want := map[ipc.Kind]predict.Result{
		ipc.KindSucceeded: {Status: predict.Succeeded, Output: []byte("[1,2]")},
		ipc.KindFailed:    {Status: predict.Failed, Error: `it "failed"`},
		ipc.KindCanceled:  {Status: predict.Canceled},
	}
	for kind, body := range good {
		got := readAnswer(&slot.Result{Kind: kind, Body: []byte(body), Elapsed: time.Second}, false)
		w := want[kind]
		if got.Status != w.Status || !bytes.Equal(got.Output, w.Output) || got.Error != w.Error ||
			string(got.Metrics) != `{"predict_time":1}` || got.Elapsed != time.Second {
			t.Errorf("%s: got %+v, want Status %v, Output %q, Error %q, Metrics %q and Elapsed %v", body, got, w.Status,
				w.Output, w.Error, `{"predict_time":1}`, time.Second)
		}
		for n := range body { // every one that was cut
			if got := readAnswer(&slot.Result{Kind: kind, Body: []byte(body[:n])}, false); got.Status != predict.Failed {
				t.Errorf("%q: got %+v, want Status %v", body[:n], got, predict.Failed)
			}
		}
		for other := range good {
			got := readAnswer(&slot.Result{Kind: other, Body: []byte(body)}, false)
			assert.False(t, other != kind && got.Status != predict.Failed,
				"kind %d with %s: got %+v, want Status %v", other, body, got, predict.Failed)
		}
	}
	for _, body := range []string{
		"", "null", "{}", "[]", `"`, `{"metrics"`, `{"metrics":{}`, `{"metrics":{}}`, `{ "metrics":{},"output":1}`,
		`{"output":1,"metrics":{}}`, `{"m":{},"output":1}`, `{"metrics":{},"output":}`, `{"metrics":{},"output"}`,
		`{"metrics":{},"error":"x`, `{"metrics":{},"error":1}`, `{"metrics":{},"error":}`, `{"metrics":},"output":1}`,
		"\x00\x01\x02", `{"metrics":{}}}`, `{"metrics":{}}` + "\n",
	} {
		for _, kind := range []ipc.Kind{ipc.KindSucceeded, ipc.KindFailed} {
			got := readAnswer(&slot.Result{Kind: kind, Body: []byte(body)}, false)
			assert.True(t, got.Status == predict.Failed && strings.Contains(got.Error, "cannot be read"),
				`kind %d, %q: got %+v, want Status %v and Error with "cannot be read"`, kind, body, got, predict.Failed)
		}
	}
}

// TestService_Yielded: the answer of an iterator whose items were emitted has no further output.
func TestService_Yielded(t *testing.T) {
	body := []byte(`{"metrics":{"predict_time":1}}`)
	got := readAnswer(&slot.Result{Kind: ipc.KindSucceeded, Body: body}, true)
	assert.True(t, got.Status == predict.Succeeded && got.Yielded && got.Output == nil,
		"got %+v, want Status %v, Yielded true and Output nil", got, predict.Succeeded)
	got = readAnswer(&slot.Result{Kind: ipc.KindSucceeded, Body: body}, false)
	assert.True(t, got.Status == predict.Failed, "no items were emitted, and got %+v, want Status %v", got, predict.Failed)
}

func TestService_ChangesHasToken(t *testing.T) {
	h := build(t, "good", 0, "")
	for h.Health().Status != "READY" {
		select {
		case <-h.Changes():
		case <-time.After(assert.Timeout):
			t.Fatalf("got no change within %s, want one", assert.Timeout)
		}
	}
	assert.False(t, h.HasTraining(), "there is a training")
	body, ok := h.OpenAPI()
	assert.True(t, ok && string(body) == fakeworker.Document, "the schema is %s, want ok true and body %q", body, fakeworker.Document)
}

// TestService_Unloaded: a model without workers on purpose is not loaded, keeps its schema, and takes predictions again
// with new workers.
func TestService_Unloaded(t *testing.T) {
	h := ready(t, "good", 5, "")
	h.worker.Stop()
	<-h.worker.Done()
	h.Unloaded()
	h.until("UNLOADED")
	h.refused("The model is not loaded.")
	_, ok := h.OpenAPI()
	assert.True(t, ok, "the schema is gone")
	h.supervise("good", "")
	h.until("READY")
	h.run("again", `{"s":"x"}`)
}
