package assert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// NoError ends the test if err is not nil. It shows the context behind the error, such as what a program has printed.
func NoError(t testing.TB, err error, context ...any) {
	t.Helper()
	if err != nil {
		var after strings.Builder
		for _, c := range context {
			fmt.Fprintf(&after, ": %.3000s", text(c))
		}
		t.Fatalf("got the error %v, want none%s", err, &after)
	}
}

// Must returns a function that returns value. The function ends the test if err is not nil: got := assert.Must(f())(t).
func Must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NoError(t, err)
		return value
	}
}

// ErrorIs fails the test unless got is want, or wraps it.
func ErrorIs(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// Equal fails the test unless got equals want.
func Equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %.3000s, want %.3000s", what, show(got), show(want))
	}
}

// EqualNow ends the test unless got equals want.
func EqualNow[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %.3000s, want %.3000s", what, show(got), show(want))
	}
}

// EqualSlices fails the test unless got and want have equal elements in the same order. A nil slice is an empty one.
func EqualSlices[S ~[]E, E comparable](t testing.TB, what string, got, want S) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %.3000s, want %.3000s", what, show(got), show(want))
	}
}

// Contains fails the test unless text holds all parts, in this order.
func Contains(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%s: got no %q, or not in this place, want it in:\n%.3000s", what, part, text)
			return
		}
		rest = after
	}
}

// True fails the test, with a message as of Errorf, unless got is true.
func True(t testing.TB, got bool, format string, args ...any) {
	t.Helper()
	if !got {
		t.Errorf(format, args...)
	}
}

// TrueNow ends the test, with a message as of Fatalf, unless got is true.
func TrueNow(t testing.TB, got bool, format string, args ...any) {
	t.Helper()
	if !got {
		t.Fatalf(format, args...)
	}
}

// False fails the test, with a message as of Errorf, if got is true.
func False(t testing.TB, got bool, format string, args ...any) {
	t.Helper()
	if got {
		t.Errorf(format, args...)
	}
}

// show writes a value as a failure shows it.
func show(v any) string {
	switch v.(type) {
	case nil, error, fmt.Stringer:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%#v", v)
}

// text is a value as people read it.
func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
