package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/httpd/answers"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

func TestStream_EachEventLeavesAtOnce(t *testing.T) {
	f := newFake()
	f.hold = true
	f.result = yielded
	c := serve(t, f, Options{}).dial(t)
	c.send(streamRequest("a"))
	p := wait(t, f.started, "the prediction")
	st := c.follow()
	st.want("start", `{"id":"a","status":"processing"}`)
	for i := range 100 { // each is read before the next is yielded
		p.Output([]byte(`"x"`))
		st.want("output", fmt.Sprintf(`{"chunk":"x","index":%d}`, i))
	}
	f.finish(p)
	st.want("completed", "")
	more := st.rest()
	assert.True(t, more == nil, "after the last event come %v", more)
}

func TestStream_OfMany(t *testing.T) {
	const n, ahead = 200_000, 512
	f := newFake()
	f.result = yielded
	got := make(chan struct{}, n)
	f.runs = func(p *predict.Prediction) {
		for i := range n {
			if i >= ahead { // a model that is faster than its client loses it
				<-got
			}
			p.Output(fmt.Append(nil, i))
		}
	}
	c := serve(t, f, Options{}).dial(t)
	c.send(streamRequest("a"))
	st := c.follow()
	st.want("start", "")
	for i := range n {
		st.want("output", fmt.Sprintf(`{"chunk":%d,"index":%d}`, i, i))
		got <- struct{}{}
	}
	e, _ := st.next()
	var object struct{ Output []int }
	err := json.Unmarshal([]byte(e.data), &object)
	assert.True(t, err == nil && len(object.Output) == n, "%s with %d items: %v, want %d", e.name, len(object.Output), err, n)
}

func TestStream_OfBigEvents(t *testing.T) {
	sizes := []int{2, answers.FlushAt/2 - 20, answers.FlushAt / 2, answers.FlushAt, 1 << 20, 5<<20 + 1, 3}
	logs := bytes.Repeat([]byte("a\xff\n"), 300<<10)
	f := newFake()
	f.result = yielded
	f.runs = func(p *predict.Prediction) {
		for _, n := range sizes {
			p.Output(bigString(n))
		}
		p.Log("stdout", logs)
		p.Output([]byte(`"after"`))
	}
	s := serve(t, f, Options{})
	for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
		c := s.dial(t)
		c.send(strings.Replace(streamRequest("a"), "HTTP/1.1", version, 1))
		st := c.follow()
		st.want("start", "")
		for i, n := range sizes {
			st.want("output", fmt.Sprintf(`{"chunk":%s,"index":%d}`, bigString(n), i))
		}
		e, _ := st.next()
		assert.Equal(t, "name", e.name, "log")
		assert.Equal(t, "bytes of data", len(e.data), len(`{"source":"stdout","data":""}`)+len("a\uFFFD\\n")*300<<10)
		st.want("output", `{"chunk":"after","index":7}`)
		e, _ = st.next()
		var object struct {
			Output []string
			Logs   string
		}
		if err := json.Unmarshal([]byte(e.data), &object); err != nil || len(object.Output) != len(sizes)+1 ||
			len(object.Logs) != 300<<10*len("a\uFFFD\n") {
			t.Errorf("%s with %d items and %d bytes of logs: %v, want %d and %d bytes", e.name, len(object.Output),
				len(object.Logs), err, len(sizes)+1, 300<<10*len("a\uFFFD\n"))
		}
		more := st.rest()
		assert.True(t, more == nil, "after the last event come %v", more)
	}
}

// TestStream_KeepsItsConnection: what is pipelined behind a stream is answered after it.
func TestStream_KeepsItsConnection(t *testing.T) {
	f := newFake()
	s := serve(t, f, Options{})
	c := s.dial(t)
	for range 3 {
		c.send(ask("GET", "/livez", "", "") + streamRequest("a") + ask("GET", "/nope", "", ""))
		c.want(200)
		events := c.follow().rest()
		assert.True(t, len(events) == 2, "got %v, want 2", events)
		c.want(404)
	}
	// A refused stream too.
	f.plain = true
	c.send(streamRequest("a") + ask("GET", "/livez", "", ""))
	c.want(406)
	c.want(200)
	// HTTP/1.0 has no way to tell a stream's end but the connection's.
	f.plain = false
	c.send(strings.Replace(streamRequest("a"), "HTTP/1.1", "HTTP/1.0", 1))
	c.follow().rest()
	c.ended()
}

func TestStream_Comments(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{StreamComment: 5 * time.Millisecond})
	for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
		c := s.dial(t)
		c.send(strings.Replace(streamRequest("a"), "HTTP/1.1", version, 1))
		p := wait(t, f.started, "the prediction")
		st := c.follow()
		st.want("start", "")
		for range 3 {
			st.want("", ": keep-alive")
		}
		p.Output([]byte("1"))
		for {
			e, _ := st.next()
			if e.name == "output" {
				break
			}
			assert.EqualNow(t, fmt.Sprintf("%v", e), e.name, "")
		}
		f.finish(p)
		last := st.rest()
		e := last[len(last)-1]
		assert.True(t, e.name == "completed", "it ends with %v, want name completed", e)
	}
}

// TestStream_CommentsBeforeStart: a prediction that waits in the queue has no events.
func TestStream_CommentsBeforeStart(t *testing.T) {
	f := newFake()
	f.runErr = predict.ErrQueueTimeout
	queue := make(chan struct{})
	f.queued = func() { <-queue }
	c := serve(t, f, Options{StreamComment: 5 * time.Millisecond}).dial(t)
	c.send(streamRequest("a"))
	st := c.follow()
	st.want("", ": keep-alive")
	close(queue)
	last := st.rest()
	e := last[len(last)-1]
	assert.True(t, e.name == "completed" && strings.Contains(e.data, `"status":"failed","error":"Timed out in the queue`),
		"it ends with %v, want name completed and data with %q", e, `"status":"failed","error":"Timed out in the queue`)
}

// TestStream_SlowReaderMissesEvents, and the model does not wait for it.
func TestStream_SlowReaderMissesEvents(t *testing.T) {
	const n, size = 20_000, 4 << 10
	f := newFake()
	f.hold = true
	item := bigString(size)
	begun, yielding := make(chan struct{}), make(chan struct{})
	f.runs = func(p *predict.Prediction) {
		defer close(yielding)
		<-begun
		for range n {
			p.Output(item)
		}
	}
	s := serve(t, f, Options{})
	c := s.dial(t)
	c.send(streamRequest("a"))
	st := c.follow()
	st.want("start", "")
	close(begun)
	wait(t, yielding, "the model, although no client reads")
	p := wait(t, f.started, "the prediction")
	events := st.rest()
	for i, e := range events[:len(events)-1] {
		want := fmt.Sprintf(`{"chunk":%s,"index":%d}`, item, i)
		assert.TrueNow(t, e.name == "output" && e.data == want, "event %d is %s %.100q, want output and %q", i, e.name, e.data, want)
	}
	var missed struct {
		Error   string
		Skipped int
	}
	last := events[len(events)-1]
	if err := json.Unmarshal([]byte(last.data), &missed); err != nil || last.name != "error" ||
		missed.Error != "SSE stream lagged; events were dropped" || missed.Skipped <= 0 || missed.Skipped > n {
		t.Errorf("it ends with %v: %v, want the error of a subscriber that lagged, with the number of skipped events", last,
			err)
	}
	// It was the only one, so the prediction has no subscriber.
	assert.Equal(t, "canceled", wait(t, f.canceled, "the cancel"), p.ID())
	c.send(ask("GET", "/livez", "", ""))
	c.want(200)
}

// TestStream_StalledStreamIsGivenUp: a stream whose client stops reading ends with the write timeout.
func TestStream_StalledStreamIsGivenUp(t *testing.T) {
	f := newFake()
	f.hold = true
	f.runs = func(p *predict.Prediction) { p.Output(bigString(64 << 20)) }
	for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
		c := serve(t, f, Options{WriteTimeout: 50 * time.Millisecond}).dial(t)
		c.send(strings.Replace(streamRequest("a"), "HTTP/1.1", version, 1))
		wait(t, f.canceled, "the cancel")
		wait(t, f.released, "the release")
	}
}

func TestStreams_AreReleasedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		set    func(f *fake)
		status int
	}{
		"ended":        {func(f *fake) {}, 200},
		"refused":      {func(f *fake) { f.runErr = predict.ErrQueueTimeout }, 408},
		"panic":        {func(f *fake) { f.queued = func() { panic("before the start") } }, 500},
		"panic in run": {func(f *fake) { f.runs = func(*predict.Prediction) { panic("in the run") } }, 200},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			c.set(f)
			s := serve(t, f, Options{})
			conn := s.dial(t)
			conn.send(streamRequest("a"))
			_, body := conn.want(c.status)
			assert.False(t, c.status == 200 && !strings.Contains(body, "event: completed\n"),
				"it ends without its last event: %q, want it to contain %q", body, "event: completed\n")
			wait(t, f.released, "the release")
			assert.Equal(t, "releases", len(f.released), 0)
			conn.send(ask("GET", "/livez", "", ""))
			conn.want(200)
		})
	}
}

func TestStream_ShutdownFinishesStreams(t *testing.T) {
	f := newFake()
	f.hold = true
	f.result = yielded
	s := serve(t, f, Options{})
	c := s.dial(t)
	c.send(streamRequest("a"))
	p := wait(t, f.started, "the prediction")
	st := c.follow()
	st.want("start", "")
	done := s.shut(context.Background())
	wait(t, s.served, "the end of Serve")
	p.Output([]byte("1"))
	st.want("output", `{"chunk":1,"index":0}`)
	f.finish(p)
	st.want("completed", "")
	more := st.rest()
	assert.True(t, more == nil, "after the last event come %v", more)
	assert.ErrorIs(t, "the end of Shutdown", wait(t, done, "the end of Shutdown"), nil)
	c.ended()
}

// TestStream_ManyFollow one prediction, with one that reads nothing among them: each of the others gets all.
func TestStream_ManyFollow(t *testing.T) {
	const n, events = 50, 5000
	f := newFake()
	f.hold = true
	f.result = yielded
	s := serve(t, f, Options{})
	maker := s.dial(t)
	maker.send(streamRequest("a"))
	p := wait(t, f.started, "the prediction")
	maker.follow().want("start", "") // and nothing more
	read := make(chan struct{}, n*events)
	ends := make(chan error, n)
	for range n {
		c := s.dial(t)
		c.send(ask("PUT", "/predictions/a", asStream, `{}`))
		st := c.follow()
		st.want("start", "")
		go func() {
			for i := range events {
				if e, ok := st.next(); !ok || e.data != fmt.Sprintf(`{"chunk":1,"index":%d}`, i) {
					ends <- fmt.Errorf("event %d: %v", i, e)
					return
				}
				read <- struct{}{}
			}
			e, _ := st.next()
			if e.name != "completed" {
				ends <- fmt.Errorf("it ends with %v", e)
				return
			}
			ends <- nil
		}()
	}
	for i := range events {
		p.Output([]byte("1"))
		if i%500 == 499 {
			for range 500 * n {
				wait(t, read, "the readers")
			}
		}
	}
	f.finish(p)
	for range n {
		assert.ErrorIs(t, "a reader's end", wait(t, ends, "a reader's end"), nil)
	}
}
