package harness

import (
	"fmt"
	"os"
	"testing"
	"time"

	"pinion/tests/await"
)

// timeout is when a state that does not come is given up: far beyond what an emulated processor on a busy machine
// needs.
const timeout = 3 * time.Minute

// pause lies between two looks at a state.
const pause = 5 * time.Millisecond

// Eventually waits until a state has come, and fails the test where it never does.
func Eventually(t testing.TB, what string, reached func() bool) {
	t.Helper()
	if err := until(reached); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// WaitFile waits until a file is there.
func WaitFile(t testing.TB, path string) {
	t.Helper()
	Eventually(t, path+" is there", func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

func until(reached func() bool) error {
	if !await.Within(timeout, pause, reached) {
		return fmt.Errorf("not within %s", timeout)
	}
	return nil
}
