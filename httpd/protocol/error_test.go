package protocol

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// TestError_Of: each refusal has its kind, however it is wrapped, and a refusal for now says when to come again.
func TestError_Of(t *testing.T) {
	for _, c := range []struct {
		err   error
		kind  Kind
		again time.Duration
	}{
		{predict.ErrBusy, NoPlace, time.Second},
		{&predict.QueueFullError{RetryAfter: 3 * time.Second}, NoPlace, 3 * time.Second},
		{predict.ErrQueueTimeout, Waited, time.Second},
		{memory.ErrFull, Waited, time.Second},
		{memory.ErrTooLarge, TooLarge, 0},
		{&predict.NotReadyError{Reason: "setup"}, NotReady, time.Second},
		{predict.ErrInFlight, Conflict, 0},
		{rawjson.Check([]byte("{")), BadInput, 0},
		{errors.New("a bug"), Internal, 0},
	} {
		for _, err := range []error{c.err, fmt.Errorf("create: %w", c.err)} {
			e := ErrorOf(err)
			assert.True(t, e.Kind == c.kind && e.RetryAfter == c.again && e.Row == -1,
				"%v: kind %d, retry after %v, row %d, want %d, %v and -1", err, e.Kind, e.RetryAfter, e.Row, c.kind, c.again)
		}
	}
}

// TestError_ProblemsNameInput: not its place in a body of the native API.
func TestError_ProblemsNameInput(t *testing.T) {
	e := ErrorOf(&predict.ValidationError{
		Problems: []predict.Problem{{Loc: []string{"body", "input", "x"}, Msg: "Field required"}},
	})
	if got, want := e.Error(), "input x: Field required"; got != want || e.Kind != BadInput {
		t.Errorf("%q, want %q", got, want)
	}
	e.Row = 5
	assert.Equal(t, "error", e.Error(), "row 5: input x: Field required")
}

// TestError_RetryAfterSeconds rounds up.
func TestError_RetryAfterSeconds(t *testing.T) {
	for after, want := range map[time.Duration]int{0: 0, time.Millisecond: 1, time.Second: 1, 1001 * time.Millisecond: 2} {
		assert.Equal(t, fmt.Sprintf("%v", after), (&Error{RetryAfter: after}).RetryAfterSeconds(), want)
	}
}

// TestError_EachRefusalHasStatus of the native API.
func TestError_EachRefusalHasStatus(t *testing.T) {
	for k := range predict.RefusalKinds {
		assert.True(t, NativeStatus(k) >= 400, "refusal %d: got the status %d, want a row of refusals", k, NativeStatus(k))
	}
}
