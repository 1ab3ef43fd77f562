package harness

import (
	"fmt"
	"os"
	"testing"
	"time"

	"pinion/tests/assert"
)

// WaitFile waits until a file is there.
func WaitFile(t testing.TB, path string) {
	t.Helper()
	assert.Eventually(t, path+" is there", func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

func until(reached func() bool) error {
	if !assert.Within(assert.Timeout, 5*time.Millisecond, reached) {
		return fmt.Errorf("not within %s", assert.Timeout)
	}
	return nil
}
