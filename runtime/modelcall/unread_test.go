package modelcall

import (
	"testing"

	"pinion/tests/assert"
)

// TestUnread_PausesTheModel while so many items, or bytes of them, are not read.
func TestUnread_PausesTheModel(t *testing.T) {
	for name, size := range map[string]int{"items": 1, "bytes": maxUnreadBytes / 4, "one large item": 2 * maxUnreadBytes} {
		var u unread
		var paused []bool
		pause := func(on bool) { paused = append(paused, on) }
		sent := uint64(0)
		for len(paused) == 0 {
			u.add(size, pause)
			sent++
		}
		want := uint64(min(maxUnreadItems, max(1, maxUnreadBytes/size)))
		assert.True(t, sent == want && paused[0], "%s: paused after %d, want %d", name, sent, want)
		u.add(size, pause) // it was under way
		u.take(1)
		assert.True(t, len(paused) == 1, "%s: got %v with as many as before, want a pause", name, paused)
		u.take(1 << 60) // more than there are
		assert.True(t, len(paused) == 2 && !paused[1] && u.bytes == 0,
			"%s: got %v, and %d bytes left, want it resumed", name, paused, u.bytes)
	}
}
