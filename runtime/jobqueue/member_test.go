package jobqueue

import (
	"encoding/json"
	"errors"
	"net"
	"testing"
	"time"

	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/tests/assert"
)

func statusOf(object []byte) string {
	var o struct{ Status string }
	if json.Unmarshal(object, &o) != nil {
		return "not JSON"
	}
	return o.Status
}

// TestMember_JobRunsOnAnotherServer: a gateway accepts it, before any server is there.
func TestMember_JobRunsOnAnotherServer(t *testing.T) {
	r := newRig(t)
	gateway := r.join("gateway", nil)
	a, err := gateway.Accept(submission("one", `{"s":"x"}`))
	assert.TrueNow(t, err == nil && a.ID == "one" && a.Object == nil, "got %+v, %v; want the id one", a, err)
	assert.Equal(t, "before there is a server", r.status(gateway, "one"), "starting")
	server, _ := r.serve("server")
	r.until(gateway, "one", "succeeded")
	found := assert.Must(server.Find(predict.KindPrediction, "one", false))(t)
	defer found.Release()
	assert.Contains(t, "object", string(found.Object), `"output":`, `"s":"x"`)
	assert.Equal(t, "an unknown job", r.status(server, "another"), "")
}

func TestMember_EachFormatIsReadAgain(t *testing.T) {
	r := newRig(t)
	m, _ := r.serve("server")
	form := "--B\r\nContent-Disposition: form-data; name=\"s\"\r\n\r\nx\r\n--B--\r\n"
	for id, s := range map[string]request.Submission{
		"pack": {Body: []byte("\x81\xa5input\x81\xa1s\xa1x"), ContentType: request.TypeMsgPack},
		"form": {Body: []byte(form), ContentType: "multipart/form-data; boundary=B"},
		"bad":  {Body: []byte("\x81"), ContentType: request.TypeMsgPack},
	} {
		s.Request = predict.Request{ID: id, Input: []byte(`{"s":"x"}`), Mode: predict.Async}
		_, err := m.Accept(s)
		assert.TrueNow(t, err == nil, "%s: got %v, want no error", id, err)
	}
	r.until(m, "pack", "succeeded")
	r.until(m, "form", "succeeded")
	r.until(m, "bad", "failed")
}

func TestMember_RefusesWhatItHas(t *testing.T) {
	r := newRig(t)
	m := r.join("gateway", nil)
	s := submission("one", `{"s":"x"}`)
	if _, err := m.Accept(s); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Accept(s); !errors.Is(err, predict.ErrInFlight) {
		t.Errorf("got %v of a second job of that id, want %v", err, predict.ErrInFlight)
	}
	r.serve("server")
	r.until(m, "one", "succeeded")
	if _, err := m.Accept(s); !errors.Is(err, predict.ErrEnded) {
		t.Errorf("got %v of a second job of that id, want %v", err, predict.ErrEnded)
	}
	s.Request.Idempotent = true
	a, err := m.Accept(s)
	assert.NoError(t, err)
	assert.EqualNow(t, "status", statusOf(a.Object), "succeeded")
	a.Release()
	s.Request.Class = "urgent"
	_, err = m.Accept(s)
	assert.True(t, err != nil, "got no error for an unknown class, want one")
}

func TestMember_InputIsChecked(t *testing.T) {
	r := newRig(t)
	m, _ := r.serve("server")
	var invalid *predict.ValidationError
	_, err := m.Accept(submission("one", `{"s":7}`))
	assert.True(t, errors.As(err, &invalid), "got %v, want a *predict.ValidationError", err)
	assert.Equal(t, "the job's status", r.status(m, "one"), "")
}

func TestMember_CancelsOnAnyServer(t *testing.T) {
	r := newRig(t)
	_, s := r.serve("server")
	gateway := r.join("gateway", nil)
	for _, id := range []string{"running", "waiting"} {
		_, err := gateway.Accept(submission(id, `{"s":"forever"}`))
		assert.NoError(t, err)
		if id == "running" {
			r.until(gateway, id, "processing")
		}
	}
	for _, id := range []string{"waiting", "running"} {
		canceled, err := gateway.Cancel(predict.KindPrediction, id)
		assert.True(t, err == nil && canceled, "%s: got %t, %v; want it canceled", id, canceled, err)
		r.until(gateway, id, "canceled")
	}
	canceled, err := gateway.Cancel(predict.KindPrediction, "unknown")
	assert.True(t, err == nil && !canceled, "got %t, %v of an unknown job; want false", canceled, err)
	assert.Eventually(t, "nothing runs", func() bool { return s.InFlight() == 0 })
}

// TestMember_SubmitFollowsTheJob: what it returns ends as the job does, on whichever server that runs.
func TestMember_SubmitFollowsTheJob(t *testing.T) {
	r := newRig(t)
	r.serve("server")
	gateway := r.join("gateway", nil)
	for word, want := range map[string]predict.Status{"x": predict.Succeeded, "fail": predict.Failed} {
		p, err := gateway.Submit(submission("of-"+word, `{"s":"`+word+`"}`), true)
		assert.NoError(t, err)
		err = p.Run()
		assert.True(t, err == nil, "%s: got %v, want no error", word, err)
		rec := p.Record()
		assert.True(t, rec.Status == want, "%s: got %s, %q; want %s", word, rec.Status, rec.Error, want)
		p.Release()
	}
}

// TestMember_ReleasedJobRunsElsewhere: a server that stops gives its job back.
func TestMember_ReleasedJobRunsElsewhere(t *testing.T) {
	r := newRig(t)
	first, s := r.serve("first")
	gateway := r.join("gateway", nil)
	_, err := gateway.Accept(submission("one", `{"s":"forever"}`))
	assert.NoError(t, err)
	r.until(gateway, "one", "processing")
	first.Drain()
	first.Release(nil)
	assert.Eventually(t, "the first has given it back", func() bool { return s.InFlight() == 0 })
	_, other := r.serve("second")
	assert.Eventually(t, "the second runs it", func() bool { return other.Find(predict.KindPrediction, "one") != nil })
	_, err = gateway.Cancel(predict.KindPrediction, "one")
	assert.NoError(t, err)
	r.until(gateway, "one", "canceled")
}

func TestMember_HealthCountsTheFleet(t *testing.T) {
	r := newRig(t)
	r.serve("server")
	gateway := r.join("gateway", nil)
	for _, id := range []string{"a", "b"} {
		_, err := gateway.Accept(submission(id, `{"s":"forever"}`))
		assert.NoError(t, err)
	}
	assert.Eventually(t, "one runs and one waits", func() bool {
		h := gateway.Health()
		return h.Connected && h.Error == "" && h.Servers == 1 && h.Stored == 2 && h.Running == 1 && h.Waiting == 1
	}, func() any { return gateway.Health() })
	for _, id := range []string{"b", "a"} {
		_, err := gateway.Cancel(predict.KindPrediction, id)
		assert.NoError(t, err)
	}
	assert.Eventually(t, "none is stored", func() bool { return gateway.Health().Stored == 0 })
}

// TestMember_NATSThatIsNotThere: the member joins when it comes, and refuses requests until then.
func TestMember_NATSThatIsNotThere(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	address := ln.Addr().String()
	ln.Close()
	r := &rig{t: t}
	m := r.join("gateway", func(o *Options) {
		o.Connect = func(changed func(error)) *state.Conn {
			c := state.Connection{URLs: []string{"nats://" + address}, OnChange: changed}
			return c.Dial()
		}
	})
	var away *predict.UnavailableError
	s := submission("one", `{}`)
	s.Request.Deadline = time.Now() // NATS is not waited for
	_, err = m.Accept(s)
	assert.TrueNow(t, errors.As(err, &away), "got %v without NATS, want a *predict.UnavailableError", err)
	r.start(address)
	assert.Eventually(t, "it has joined", func() bool { return m.Health().Error == "" })
	_, err = m.Accept(submission("one", `{}`))
	assert.NoError(t, err)
	r.leave(m) // before NATS, which was started after it and so is stopped first
}
