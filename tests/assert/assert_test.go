package assert

import (
	"os"
	"testing"
)

// recorder is a test that is watched by another.
type recorder struct {
	testing.TB
	cleanups []func()
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// TestAssert_NoLeakWaits: what is closed only after the look has begun is not a leak, and what else is asked for comes
// last.
func TestAssert_NoLeakWaits(t *testing.T) {
	inner := &recorder{TB: t}
	looked := false
	release := make(chan struct{})
	NoLeak(inner, func() {
		looked = true
		select {
		case <-release:
		default:
			t.Error("NoLeak looked while a goroutine was left, want it to wait")
		}
	})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-release
		r.Close()
		w.Close()
	}()
	before := len(descriptors(t))
	go close(release)
	for _, f := range inner.cleanups {
		f()
	}
	if !looked {
		t.Error("the check was never called")
	}
	if after := len(descriptors(t)); after != before-2 {
		t.Errorf("%d descriptors, %d before: the pipe was not waited for, want %d", after, before, before-2)
	}
}

func TestAssert_EventuallyLooksAgain(t *testing.T) {
	looks := 0
	Eventually(t, "the third look", func() bool { looks++; return looks == 3 })
	if looks != 3 {
		t.Errorf("%d looks, want 3", looks)
	}
}
