package service

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// TestFiles_GoneWithRelease: the files of inputs are there for the model, and gone with Release.
func TestFiles_GoneWithRelease(t *testing.T) {
	h := ready(t, "good", 0, "")
	empty := remains(t, h.root)
	url := "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte("hello"))
	p := h.create("a", `{"s":"x","image":"`+url+`"}`)
	assert.NoError(t, h.ended(waiting(p)))
	out := string(p.Record().Output)
	assert.True(t, !strings.Contains(out, "data:") && strings.Contains(out, h.root), "the model got %s, want a path", out)
	got := remains(t, h.root)
	assert.True(t, len(got) > len(empty), "nothing is on disk: %q, want more than %d", got, len(empty))
	p.Release()
	assert.EqualSlices(t, "the store", remains(t, h.root), empty)
}

// TestFiles_FailedDownload fails the prediction, and the model never sees it.
func TestFiles_FailedDownload(t *testing.T) {
	h := ready(t, "good", 0, "")
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	got := h.run("a", `{"s":"die","image":"`+server.URL+`/cat.png"}`)
	if got.Status != predict.Failed || !strings.Contains(got.Error, `input "image"`) ||
		!strings.Contains(got.Error, "404") || got.Started.IsZero() {
		t.Errorf(`got %+v, want Status %v, Error with %q and with "404" and Started non-zero`, got, predict.Failed,
			`input "image"`)
	}
	h.run("b", `{"s":"x"}`) // its place is free
}

// TestFiles_CancelDuringFetch ends the download.
func TestFiles_CancelDuringFetch(t *testing.T) {
	h := ready(t, "good", 0, "")
	asked, left := make(chan bool, 10), make(chan bool, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		<-r.Context().Done()
		left <- true
	}))
	defer server.Close()
	p := h.create("a", `{"s":"die","image":"`+server.URL+`/cat.png"}`)
	done := waiting(p)
	<-asked
	assert.True(t, h.Cancel(predict.KindPrediction, "a"),
		`it is not in flight: h.Cancel(predict.KindPrediction, "a") = false, want true`)
	if err := h.ended(done); err != nil || p.Record().Status != predict.Canceled || p.Record().Started.IsZero() {
		t.Errorf("got %v, %+v, want Status %v and Started non-zero", err, p.Record(), predict.Canceled)
	}
	<-left
	p.Release()
	h.run("b", `{"s":"x"}`)
}
