package egress

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// StatusError is an answer that refused a request.
type StatusError struct {
	Peer       string // the name of the server in the error's text
	Code       int
	RetryAfter time.Duration // 0 if the answer has none
}

// NewStatusError returns the error of an answer.
func NewStatusError(peer string, response *http.Response, now time.Time) *StatusError {
	return &StatusError{peer, response.StatusCode, retryAfter(response.Header.Get("Retry-After"), now)}
}

// Error returns the standard text of the status, not the answer's text.
func (e *StatusError) Error() string {
	text := "the " + e.Peer + " answered " + strconv.Itoa(e.Code)
	if words := http.StatusText(e.Code); words != "" {
		text += " " + words
	}
	return text
}

// retryAfter reads a Retry-After header: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// Temporary reports whether a retry may succeed after err, which is a StatusError or else a network's error.
func Temporary(err error) bool {
	status, ok := errors.AsType[*StatusError](err)
	if !ok {
		return !errors.Is(err, ErrPrivate) && !errors.Is(err, ErrRedirect) && !errors.Is(err, ErrAnswer)
	}
	switch status.Code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Backoff says how long to wait between tries.
type Backoff struct {
	// First is the wait after the first try. It doubles with each further one, up to Most.
	First, Most time.Duration
	// Random returns a number in [0, 1). Default: that of math/rand.
	Random func() float64
}

// After returns how long to wait after that many tries, the last of which ended with err. The wait is up to a quarter
// longer, at random: clients that failed together do not come back together. It is at least what the answer's
// Retry-After asks for, and never longer than Most.
func (b Backoff) After(tries int, err error) time.Duration {
	wait := b.First
	for range tries - 1 {
		wait = min(2*wait, b.Most)
	}
	random := b.Random
	if random == nil {
		random = rand.Float64
	}
	wait += time.Duration(random() * float64(wait) / 4)
	if status, ok := errors.AsType[*StatusError](err); ok {
		wait = max(wait, status.RetryAfter)
	}
	return min(wait, b.Most)
}

// Sleep returns after d, at a token of wake, or when ctx ends.
func Sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}
