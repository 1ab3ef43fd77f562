package harness

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"pinion/tests/assert"
)

// HookReceiver collects webhooks.
type HookReceiver struct {
	*httptest.Server

	Hold func(*Prediction) // if set, it returns when a webhook may be answered

	mu  sync.Mutex
	got []Webhook
}

// Webhook is a webhook as it came.
type Webhook struct {
	Prediction
	Header http.Header
}

// NewHookReceiver starts a receiver, until the end of the test.
func NewHookReceiver(t testing.TB) *HookReceiver {
	r := &HookReceiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		text, _ := io.ReadAll(request.Body)
		hook := Webhook{Header: request.Header}
		err := json.Unmarshal(text, &hook.Prediction)
		assert.True(t, err == nil, "a webhook is %q: got %v, want no error", text, err)
		if r.Hold != nil {
			r.Hold(&hook.Prediction)
		}
		r.mu.Lock()
		r.got = append(r.got, hook)
		r.mu.Unlock()
	}))
	t.Cleanup(r.Close)
	return r
}

// Of returns the webhooks of a prediction, in the order in which they came.
func (r *HookReceiver) Of(id string) []Webhook {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.got), func(hook Webhook) bool { return hook.ID != id })
}
