package assert

import (
	"runtime"
	"testing"
	"time"
)

// Timeout is how long a test waits for what must come: far longer than an emulated processor on a busy machine needs.
const Timeout = 3 * time.Minute

// Eventually waits until a state has come, and fails the test where it never does. It then shows what is there instead,
// as the functions say.
func Eventually(t testing.TB, what string, reached func() bool, instead ...func() any) {
	t.Helper()
	// What a process of its own must do takes long, and a check of it may cost much.
	if Within(50*time.Millisecond, time.Millisecond, reached) || Within(Timeout, 5*time.Millisecond, reached) {
		return
	}
	for _, check := range instead {
		t.Logf("instead: %v", check())
	}
	t.Fatalf("not within %s: want %s\n%s", Timeout, what, Stacks())
}

// Within reports whether a state comes in that time. It looks once in every pause.
func Within(limit, pause time.Duration, reached func() bool) bool {
	for end := time.Now().Add(limit); !reached(); time.Sleep(pause) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Stacks are those of all goroutines, to be shown where one of them does not come.
func Stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
