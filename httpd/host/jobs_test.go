package host

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/httpd/native"
	"pinion/httpd/negotiate"
	"pinion/httpd/place"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// endsAtOnce is a runner whose predictions have ended when they have been submitted.
type endsAtOnce struct{}

func (endsAtOnce) Submit(p *predict.Prediction) {
	p.Begin(time.Now())
	p.Log("stdout", []byte("a line\n"))
	p.End(predict.Result{Status: predict.Succeeded, Output: []byte(`["a"]`)}, time.Now())
}

func (endsAtOnce) Run(*predict.Prediction) error { return nil }
func (endsAtOnce) Cancel(*predict.Prediction)    {}

// forgetful is the route to a model that retains no prediction.
type forgetful struct {
	place.Route
	place.Service
}

func (f forgetful) Holder(predict.Kind, string) place.Service { return f }

func (forgetful) Result(predict.Kind, string) (p *predict.Prediction, rec predict.Record, ok bool) {
	return nil, rec, false
}

// TestJobs_StartedJobHasNoOutput: a client that does not wait takes what it is given as older than what it reads.
func TestJobs_StartedJobHasNoOutput(t *testing.T) {
	h := Host{Front: &native.Front{Out: &answers.Writer{}}}
	p := predict.New("a", &predict.Request{ID: "a", Mode: predict.Async}, time.Now(), endsAtOnce{}, predict.Options{})
	job, err := h.startJob(&fasthttp.RequestCtx{}, &place.Placer{Route: forgetful{}}, p, negotiate.Mode{})
	assert.True(t, err == nil, "got %v, want a job", err)
	object := string(bytes.Join(job.Object[:], nil))
	assert.Equal(t, "status", job.Status, "starting")
	for _, part := range []string{`"a"]`, "a line", "completed_at", "started_at", "predict_time"} {
		assert.False(t, strings.Contains(object, part), "got %s, want no %s in it", object, part)
	}
}
