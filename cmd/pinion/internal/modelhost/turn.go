package modelhost

import (
	"context"
	"errors"
	"slices"
	"time"

	"pinion/cmd/pinion/internal/config"
)

// A model that is used all the time is never idle, so a model that waits for its memory would never be loaded. The two
// then take turns: when a model has served for its turn, it accepts no new requests and finishes those that it has, and
// the other is loaded in its place. Requests for the first model meanwhile wait for its next turn.
//
// With few clients a model is idle for moments between their requests. If it were evicted then, the models would be
// loaded again after every few answers. So requests for another model wait for the end of its turn in this case, too.

// leastTurn is how long a model serves at least before it makes room for another. The turn is longer if the load took
// longer, or if another model waited in vain for its end: at most half of the time is lost.
const leastTurn = time.Second

// returnTime is how long clients have for their next request after the last answer. If none comes, the model is evicted
// before its turn ends.
const returnTime = 100 * time.Millisecond

// enterTime is about what a request takes until it counts as in flight.
const enterTime = time.Millisecond

// LoadByRequest loads the model for requests. callers are the models whose predictions wait for it.
func (l *Lifecycle) LoadByRequest(ctx context.Context, callers []string) error {
	err := l.load(ctx, false, l.m.host.waitsUntil(ctx))
	if full := (*NoRoomError)(nil); errors.As(err, &full) {
		return l.m.host.loadInTurn(ctx, l.m, full, callers)
	}
	return err
}

// waitsUntil returns the latest end of a turn that a request can wait for: half of its time is left for the load.
func (h *Host) waitsUntil(ctx context.Context) time.Time {
	left := h.o.Config.Grace
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	return time.Now().Add(left / 2)
}

// loadInTurn loads the model once others have made room for it, which the callers of its predictions cannot. The error
// is full, or a later one of its kind, if the room is not there in time.
func (h *Host) loadInTurn(ctx context.Context, m *Model, full *NoRoomError, callers []string) error {
	for {
		busy, ok := chooseBusy(full, m.need(), callers)
		if !ok {
			return full
		}
		isThere, err := h.loadAfter(ctx, m, busy)
		if !isThere || ctx.Err() != nil && !errors.As(err, &full) {
			return full
		}
		if !errors.As(err, &full) {
			return err
		}
	}
}

// loadAfter loads the model after others have ended what they run, for which they have the grace of an unload.
func (h *Host) loadAfter(ctx context.Context, m *Model, busy []string) (isThere bool, err error) {
	wait, cancel := context.WithTimeout(ctx, h.o.Config.Grace)
	defer cancel()
	waits := h.waitsUntil(ctx)
	for _, other := range h.o.Models() {
		if !slices.Contains(busy, other.Name) {
			continue
		}
		defer other.Lifecycle.endWait(other.Lifecycle.beginWait())
		if !other.Lifecycle.makeIdle(wait, waits) {
			return false, nil
		}
	}
	return true, m.Lifecycle.load(ctx, false, waits)
}

// chooseBusy chooses the models that must finish what they run, first those that run nothing, then the least recently
// used, and no more than necessary; false means that all of them together do not have enough memory.
func chooseBusy(full *NoRoomError, need int64, callers []string) (names []string, ok bool) {
	free := full.Bound
	for _, h := range full.Holders {
		free -= h.Memory
	}
	ending := slices.DeleteFunc(slices.Clone(full.Holders), func(h Holder) bool {
		return !h.Ends || slices.Contains(callers, h.Name)
	})
	slices.SortStableFunc(ending, func(a, b Holder) int {
		switch {
		case a.Kept == b.Kept:
			return a.Used.Compare(b.Used)
		case a.Kept:
			return -1
		}
		return 1
	})
	names, ok = fewest(ending, need-free)
	return names, ok && len(names) > 0
}

// ends reports whether the model may make room once it has ended what it runs. A manual one would stay unloaded.
func (l *Lifecycle) ends() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case Unloading:
		return !l.closed
	case Ready, Loading:
		return !l.closed && l.m.s.Loading.When != config.Manual
	}
	return false
}

// beginTurn begins a turn of at least atLeast, with l.mu held.
func (l *Lifecycle) beginTurn(atLeast time.Duration) {
	l.began = time.Now()
	l.turnEnds = l.began.Add(max(leastTurn, atLeast))
}

// keptUntil returns until when requests for others wait although the model is idle, with l.mu held: for its turn, or
// until the clients that it has answered have not returned.
func (l *Lifecycle) keptUntil() time.Time {
	if time.Unix(0, l.came.Load()).After(l.began) {
		return l.turnEnds
	}
	quiet := l.began
	if used := l.lastUse(); used.After(quiet) {
		quiet = used
	}
	if quiet = quiet.Add(returnTime); quiet.Before(l.turnEnds) {
		return quiet
	}
	return l.turnEnds
}

// keptFor returns how much longer the model is kept, with l.mu held; 0 means that it is not kept for a request that
// waits until waits.
func (l *Lifecycle) keptFor(waits time.Time) time.Duration {
	until := l.keptUntil()
	if until.After(waits) {
		return 0
	}
	return max(time.Until(until), 0)
}

// isKept reports whether the model is still kept.
func (l *Lifecycle) isKept(waits time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keptFor(waits) > 0
}

// beginWait notes that another model waits for this one's memory, and when.
func (l *Lifecycle) beginWait() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters++
	return time.Now()
}

// endWait notes that the other model no longer waits. If this model is still loaded, it begins a new turn, which is as
// long as the wait was.
func (l *Lifecycle) endWait(began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters--
	if l.waiters > 0 || !l.yielding.Load() {
		return
	}
	l.yielding.Store(false)
	if l.state == Ready {
		l.beginTurn(time.Since(began))
		l.open.Store(true)
		l.wake()
	}
}

// makeIdle waits until the model runs nothing and is not kept, or is removed from the server; false means ctx has
// ended. Once its turn is over, new requests wait.
func (l *Lifecycle) makeIdle(ctx context.Context, waits time.Time) bool {
	for {
		l.mu.Lock()
		state, changed, closed := l.state, l.changed, l.closed
		turn, kept := time.Until(l.turnEnds), l.keptFor(waits)
		if state == Ready && turn <= 0 && !l.yielding.Load() {
			l.yielding.Store(true)
			l.open.Store(false)
			l.m.Log.Info("the model's predictions are ended, to make room for another model")
		}
		l.mu.Unlock()
		if closed || state != Loading && state != Unloading && (state != Ready || kept == 0 && l.isIdle()) {
			return true
		}
		if !l.awaitIdle(ctx, state, changed, turn, kept) {
			return false
		}
	}
}

// awaitIdle waits until the model may be idle, changes its state, or is not kept any more; false means ctx has ended.
func (l *Lifecycle) awaitIdle(
	ctx context.Context, state State, changed <-chan struct{}, turn, kept time.Duration,
) bool {
	var idle <-chan struct{}
	wait := time.Duration(0) // no limit
	switch {
	case state != Ready:
	case kept > 0:
		wait = kept
	case l.m.Service.InFlight() == 0: // requests are about to enter
		wait = enterTime
	default:
		idle, wait = l.m.Service.Idle(), max(turn, 0)
	}
	var timeout <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-idle:
	case <-changed:
	case <-timeout:
	case <-ctx.Done():
		return false
	}
	return true
}
