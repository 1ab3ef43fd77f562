package batch

import (
	"errors"
	"testing"
	"time"

	"pinion/tests/assert"
)

func TestOptions_WaitIsReadAsItIsWritten(t *testing.T) {
	for _, w := range []Wait{{}, AtMost(0), AtMost(2 * time.Millisecond), AtMost(90 * time.Second)} {
		got := assert.Must(ParseWait(w.String()))(t)
		assert.Equal(t, "value", got, w)
	}
	for _, bad := range []string{"", "2", "-1ms", "adapt", "soon"} {
		_, err := ParseWait(bad)
		assert.True(t, errors.Is(err, ErrWait), "%q: %v, want ErrWait", bad, err)
	}
	assert.Equal(t, "a bound below 0", AtMost(-ms), AtMost(0))
}

func TestOptions_WaitBounds(t *testing.T) {
	cases := []struct {
		name             string
		wait             Wait
		held, last, cost time.Duration
		want             time.Duration
	}{
		{"fixed", AtMost(3 * ms), 10 * ms, 12 * ms, ms, 13 * ms},
		{"never", AtMost(0), 10 * ms, 12 * ms, ms, 10 * ms},
		{"a tenth for the next one", Wait{}, 10 * ms, 10 * ms, 20 * ms, 12 * ms},
		{"from the last arrival", Wait{}, 10 * ms, 11 * ms, 20 * ms, 13 * ms},
		{"half in all", Wait{}, 10 * ms, 11 * ms, 2 * ms, 11 * ms},
		{"5 ms in all", Wait{}, 10 * ms, 14 * ms, time.Second, 15 * ms},
		{"a cost that is not known", Wait{}, 10 * ms, 10 * ms, 0, 10 * ms},
	}
	for _, c := range cases {
		assert.Equal(t, c.name, c.wait.end(c.held, c.last, c.cost), c.want)
	}
}

func TestOptions_Override(t *testing.T) {
	author := Options{MaxSize: 32, MaxWait: AtMost(2 * ms)}
	assert.Equal(t, "nothing to say", author.With(Override{}), author)
	adaptive := Wait{}
	if got, want := author.With(Override{MaxSize: 8, MaxWait: &adaptive}), (Options{MaxSize: 8}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestOptions_CheckSize(t *testing.T) {
	for size, ok := range map[int]bool{-1: false, 0: false, 1: true, 4096: true, 4097: false} {
		err := (Options{MaxSize: size}).Check()
		assert.True(t, errors.Is(err, ErrSize) != ok && (err == nil) == ok, "%d: %v, want Is not %t and err == nil %t", size, err, ok, ok)
	}
}
