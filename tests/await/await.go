package await

import (
	"runtime"
	"testing"
	"time"
)

// Timeout is how long a test waits for what must come: far beyond what the slowest machine needs.
const Timeout = 60 * time.Second

// Eventually waits until a state has come, and fails the test where it never does. It then shows what is there instead,
// as the functions say.
func Eventually(t testing.TB, what string, reached func() bool, instead ...func() any) {
	t.Helper()
	for end := time.Now().Add(Timeout); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().Before(end) {
			continue
		}
		for _, look := range instead {
			t.Logf("instead: %v", look())
		}
		t.Fatalf("not within %s: %s\n%s", Timeout, what, Stacks())
	}
}

// Stacks are those of all goroutines, to be shown where one of them does not come.
func Stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
