package assert

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
)

// failures records what a check says instead of failing.
type failures struct {
	testing.TB
	said string
}

func (f *failures) Errorf(format string, args ...any) {
	f.said += fmt.Sprintf("error "+format, args...)
}

func (f *failures) Fatalf(format string, args ...any) {
	f.said += fmt.Sprintf("fatal "+format, args...)
}

// TestAssert_SaysGotAndWant: each check fails for what is wrong, and for nothing else.
func TestAssert_SaysGotAndWant(t *testing.T) {
	wrapped := fmt.Errorf("read: %w", io.EOF)
	for _, c := range []struct {
		check func(testing.TB)
		want  string
	}{
		{func(t testing.TB) { NoError(t, nil, "x") }, ""},
		{func(t testing.TB) { NoError(t, io.EOF, "a.txt", []byte("out")) }, "fatal got the error EOF, want none: a.txt: out"},
		{func(t testing.TB) { Equal(t, "x", Must(1, nil)(t), 1) }, ""},
		{func(t testing.TB) { Must(1, io.EOF)(t) }, "fatal got the error EOF, want none"},
		{func(t testing.TB) { ErrorIs(t, "x", wrapped, io.EOF) }, ""},
		{func(t testing.TB) { ErrorIs(t, "x", io.EOF, wrapped) }, "error x: got EOF, want read: EOF"},
		{func(t testing.TB) { ErrorIs(t, "x", nil, io.EOF) }, "error x: got <nil>, want EOF"},
		{func(t testing.TB) { Equal(t, "x", 1, 1) }, ""},
		{func(t testing.TB) { Equal(t, "x", "a\n", "b") }, `error x: got "a\n", want "b"`},
		{func(t testing.TB) { Equal(t, "x", errors.New("a"), nil) }, "error x: got a, want <nil>"},
		{func(t testing.TB) { Equal(t, "x", time.Second, 0) }, "error x: got 1s, want 0s"},
		{func(t testing.TB) { EqualNow(t, "x", 1, 2) }, "fatal x: got 1, want 2"},
		{func(t testing.TB) { EqualSlices(t, "x", nil, []int{}) }, ""},
		{func(t testing.TB) { EqualSlices(t, "x", []int{1, 2}, []int{2, 1}) }, "error x: got []int{1, 2}, want []int{2, 1}"},
		{func(t testing.TB) { Contains(t, "x", "abc", "a", "c") }, ""},
		{func(t testing.TB) { Contains(t, "x", "abc", "c", "a") }, "error x: got no \"a\", or not in this place, want it in:\nabc"},
		{func(t testing.TB) { True(t, true, "x") }, ""},
		{func(t testing.TB) { True(t, false, "x %d", 1) }, "error x 1"},
		{func(t testing.TB) { TrueNow(t, true, "x") }, ""},
		{func(t testing.TB) { TrueNow(t, false, "x %d", 1) }, "fatal x 1"},
		{func(t testing.TB) { False(t, false, "x") }, ""},
		{func(t testing.TB) { False(t, true, "x %d", 1) }, "error x 1"},
	} {
		f := failures{TB: t}
		if c.check(&f); f.said != c.want {
			t.Errorf("got %q, want %q", f.said, c.want)
		}
	}
}
