package place

import (
	"log/slog"
	"sync/atomic"
	"time"

	"pinion/runtime/predict"
)

// busyPause is the least time between two lines of a BusyLog.
const busyPause = time.Minute

// BusyLog logs that requests are refused because no slot is free and there is no queue. It is safe for concurrent use.
type BusyLog struct {
	To *slog.Logger

	count atomic.Int64 // since the last line
	next  atomic.Int64 // when the next line may be written, in Unix nanoseconds
}

func (b *BusyLog) refused(why predict.Refusal) {
	if why.Kind != predict.RefusedBusy {
		return
	}
	b.count.Add(1)
	now := time.Now()
	if next := b.next.Load(); now.UnixNano() >= next && b.next.CompareAndSwap(next, now.Add(busyPause).UnixNano()) {
		b.To.Warn("requests are refused: every slot is busy and there is no queue", "refused", b.count.Swap(0),
			"fix", why.Fix())
	}
}
