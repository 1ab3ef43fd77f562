package service

import (
	"runtime"
	"testing"

	"pinion/tests/assert"
)

// TestJob_StopsOnce however many items its model yields until it has ended.
func TestJob_StopsOnce(t *testing.T) {
	const items = 1000
	x := &execution{}
	x.mu.Lock() // what stops it waits
	defer x.mu.Unlock()
	before := runtime.NumGoroutine()
	for range items {
		x.stop()
	}
	more := runtime.NumGoroutine() - before
	assert.True(t, more <= items/10, "got %d goroutines for %d items, want 1", more, items)
}
