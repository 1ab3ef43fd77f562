package modelcall

import "sync"

// Bounds of the items that are sent and not yet read by the caller; beyond them the model that yields them pauses. The
// caller reports half as many, or fewer, at once (pyembed/sdk/cog/_worker/calls.py).
const (
	maxUnreadItems = 64
	maxUnreadBytes = 1 << 20
)

// unread are the items of a call that its caller has not read. The zero value is ready.
type unread struct {
	mu     sync.Mutex
	sizes  []int
	bytes  int
	resume func(bool) // of the model, while it pauses
}

func (u *unread) full() bool { return len(u.sizes) >= maxUnreadItems || u.bytes >= maxUnreadBytes }

// add notes that an item was sent. pause is that of predict.Request.Items.
func (u *unread) add(size int, pause func(bool)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sizes = append(u.sizes, size)
	u.bytes += size
	if u.full() && u.resume == nil {
		u.resume = pause
		pause(true)
	}
}

// take notes that the caller has read that many more items.
func (u *unread) take(items uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := min(items, uint64(len(u.sizes)))
	for _, size := range u.sizes[:n] {
		u.bytes -= size
	}
	u.sizes = append(u.sizes[:0], u.sizes[n:]...)
	if u.resume != nil && !u.full() {
		u.resume(false)
		u.resume = nil
	}
}
