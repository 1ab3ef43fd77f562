package egress

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"pinion/tests/assert"
)

func TestNewStatusError_RetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "-3": 0, "x": 0, "99999999999999999999": 0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		response := &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {header}}}
		got := NewStatusError("server", response, now)
		assert.True(t, got.RetryAfter == want && got.Error() == "the server answered 503 Service Unavailable",
			"Retry-After %q: got %v after %v, want %v", header, got, got.RetryAfter, want)
	}
}

// TestBackoff_After: the wait doubles, is up to a quarter longer, and obeys Retry-After up to the longest wait.
func TestBackoff_After(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tries  int
		random float64
		err    error
		want   time.Duration
	}{
		{1, 0, nil, 100 * time.Millisecond},
		{2, 0, errors.New("x"), 200 * time.Millisecond},
		{3, 0.4, nil, 440 * time.Millisecond},
		{3, 0.4, &StatusError{RetryAfter: 5 * time.Second}, 5 * time.Second},
		{1, 0, &StatusError{RetryAfter: time.Hour}, time.Minute},
		{100, 0.9, nil, time.Minute},
	} {
		b := Backoff{100 * time.Millisecond, time.Minute, func() float64 { return c.random }}
		assert.Equal(t, fmt.Sprintf("after %d tries and %v, random %v", c.tries, c.err, c.random), b.After(c.tries, c.err), c.want)
	}
	first := Backoff{First: 100 * time.Millisecond, Most: time.Minute}
	if got := first.After(1, nil); got < first.First || got >= first.First*5/4 {
		t.Errorf("got %v, want at least %v and at most a quarter more", got, first.First)
	}
}

func TestStatusError_Temporary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.New("connection reset"), true},
		{ErrPrivate, false},
		{ErrRedirect, false},
		{&StatusError{Code: 429}, true},
		{&StatusError{Code: 500}, true},
		{&StatusError{Code: 504}, true},
		{&StatusError{Code: 501}, false},
		{&StatusError{Code: 404}, false},
	} {
		assert.Equal(t, fmt.Sprintf("%v", c.err), Temporary(c.err), c.want)
	}
}
