package assert

import (
	"os"
	"runtime"
	"testing"
)

// NoLeak fails the test where it ends with more descriptors or goroutines than it has now. What else must be gone by
// then is looked at by the functions, in their order, when those are.
func NoLeak(t testing.TB, checks ...func()) {
	t.Helper()
	r, w, err := os.Pipe() // Go's poller opens its descriptors with the first that it watches
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	fds, goroutines := len(descriptors(t)), runtime.NumGoroutine()
	t.Cleanup(func() {
		Eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
		Eventually(t, "the descriptors are closed", func() bool { return len(descriptors(t)) <= fds },
			func() any { return descriptors(t) })
		for _, check := range checks {
			check()
		}
	})
}

// descriptors lists what this process has open, by what it is.
func descriptors(t testing.TB) (open []string) {
	t.Helper()
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range dir {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil { // else it is the folder's own
			open = append(open, to)
		}
	}
	return open
}
