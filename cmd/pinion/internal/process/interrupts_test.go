package process

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestInterrupts_WhatIsSecondInterrupt: an echo of the first does not count, a SIGINT after a SIGTERM does.
func TestInterrupts_WhatIsSecondInterrupt(t *testing.T) {
	const stop, key = syscall.SIGTERM, syscall.SIGINT
	for _, c := range []struct {
		first, second os.Signal
		later         time.Duration
		again         bool
	}{
		{key, key, 0, false},
		{key, stop, 0, false},
		{stop, stop, 0, false},
		{stop, key, 0, true},
		{key, key, 2 * echo, true},
		{stop, stop, 2 * echo, true},
		{key, stop, 2 * echo, true},
	} {
		var asked InterruptRequests
		assert.False(t, asked.Again(c.first), "%v is a second one, want asked.Again(c.first) false", c.first)
		asked.first = asked.first.Add(-c.later)
		assert.Equal(t, fmt.Sprintf("%v, then after %s %v", c.first, c.later, c.second), asked.Again(c.second), c.again)
	}
}
