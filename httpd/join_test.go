package httpd

import (
	"strings"
	"sync/atomic"
	"testing"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// vanishing is a Service whose predictions are in flight when they are looked up and have ended, and are not retained,
// when they are to be joined: as often as left says.
type vanishing struct {
	*fake
	left atomic.Int32
}

func (v *vanishing) Create(req predict.Request) (*predict.Prediction, error) {
	if v.left.Add(-1) >= 0 {
		return nil, predict.ErrInFlight
	}
	return v.fake.Create(req)
}

func (v *vanishing) Find(predict.Kind, string) *predict.Prediction {
	if v.left.Load() <= 0 {
		return nil
	}
	return predict.New("a", &predict.Request{}, epoch, ended{}, predict.Options{}) // it emits no events
}

func (v *vanishing) Result(predict.Kind, string) (*predict.Prediction, predict.Record, bool) {
	return nil, predict.Record{}, false
}

func TestJoin_JoiningWhatEnds(t *testing.T) {
	v := &vanishing{fake: newFake()}
	c := serve(t, v, Options{}).dial(t)
	for _, headers := range []string{asJSON, asStream} {
		v.left.Store(3)
		c.send(ask("PUT", "/predictions/a", headers, "{}"))
		if _, body := c.want(200); !strings.Contains(body, `"status":"succeeded"`) {
			t.Errorf("it was not carried out anew: %s, want it to contain %q", body, `"status":"succeeded"`)
		}
		v.left.Store(1 << 20) // it never comes to an end
		c.send(ask("PUT", "/predictions/a", headers, "{}"))
		c.want(409)
	}
}

// subscribed is a Service whose predictions have followers before their maker can follow them.
type subscribed struct{ *fake }

func (c subscribed) Create(req predict.Request) (*predict.Prediction, error) {
	p, err := c.fake.Create(req)
	for range predict.MaxSubscribers {
		if _, err := p.Subscribe(); err != nil {
			return nil, err
		}
	}
	return p, err
}

// TestJoin_TooManySubscribers: a prediction that its creator cannot follow is canceled, and its slot released.
func TestJoin_TooManySubscribers(t *testing.T) {
	f := newFake()
	f.hold = true
	c := serve(t, subscribed{f}, Options{}).dial(t)
	c.send(streamRequest("a"))
	c.want(429)
	wait(t, f.canceled, "the cancel")
	wait(t, f.released, "the release")
	c.send(ask("GET", "/predictions/a", "", ""))
	_, body := c.want(200)
	assert.True(t, strings.Contains(body, `"status":"canceled"`), "got %q, want it to contain %q", body, `"status":"canceled"`)
}

// TestJoin_ErrorsKeepConnection: after any answer, the next request on its connection is answered
// too, or the answer before says that none will be.
func TestJoin_ErrorsKeepConnection(t *testing.T) {
	for _, c := range allGolden() {
		if c.before != nil || c.during != nil || strings.HasPrefix(c.name, "wait_passed") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			if c.set != nil {
				c.set(f)
			}
			f.defunct = nil // it is what the next answer is about
			conn := serve(t, f, c.opt).dial(t)
			if c.request == "" {
				c.request = postRequest(c.post)
			}
			conn.send(c.request + ask("GET", "/livez", "", ""))
			resp, _ := conn.answerTo(strings.HasPrefix(c.request, "HEAD"))
			if resp.Close {
				conn.ended()
				return
			}
			_, body := conn.want(200)
			assert.True(t, body == "{}", `the next answer is %q, want "{}"`, body)
		})
	}
}
