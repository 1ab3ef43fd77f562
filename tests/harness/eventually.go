package harness

import (
	"fmt"
	"os"
	"testing"
	"time"

	"pinion/tests/assert"
)

// timeout is how long a state is waited for: far longer than an emulated processor on a busy machine needs.
const timeout = 3 * time.Minute

// pause is the time between two checks of a state.
const pause = 5 * time.Millisecond

// Eventually waits until reached returns true, and fails the test if it never does.
func Eventually(t testing.TB, what string, reached func() bool) {
	t.Helper()
	assert.NoError(t, until(reached), what)
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
	if !assert.Within(timeout, pause, reached) {
		return fmt.Errorf("not within %s", timeout)
	}
	return nil
}
