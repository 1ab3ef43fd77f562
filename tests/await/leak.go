package await

import (
	"os"
	"runtime"
	"testing"
)

// NoLeak fails the test where it ends with more descriptors or goroutines than it has now. What else must be gone by
// then is looked at by the functions, in their order, when those are.
func NoLeak(t testing.TB, gone ...func()) {
	t.Helper()
	r, w, err := os.Pipe() // Go's poller opens descriptors of its own with the first that it watches
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	fds, goroutines := descriptors(t), runtime.NumGoroutine()
	t.Cleanup(func() {
		Eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
		Eventually(t, "the descriptors are closed", func() bool { return descriptors(t) <= fds })
		for _, look := range gone {
			look()
		}
	})
}

// descriptors is how many this process has open.
func descriptors(t testing.TB) int {
	t.Helper()
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(dir)
}
