package modelhost

import (
	"context"
	"errors"
	"slices"
	"time"

	"pinion/cmd/pinion/internal/config"
)

// A model that is used all the time is never idle, so a model that waits for its memory would never be loaded. They
// take turns then: once the one has served for its turn, it takes no new requests and ends those that it has, and the
// other is loaded in its place. Requests that come for it meanwhile wait for its next turn.

// leastTurn is how long a model serves at least before it makes room for another. A load that takes longer, or a turn
// that another has waited for in vain, makes that longer: at most half of the time is lost.
const leastTurn = time.Second

// enterTime is about what a request takes until it counts as in flight.
const enterTime = time.Millisecond

// LoadByRequest loads the model for requests. callers are the models whose predictions wait for it.
func (l *Lifecycle) LoadByRequest(ctx context.Context, callers []string) error {
	err := l.Load(ctx, false)
	if full := (*NoRoomError)(nil); errors.As(err, &full) {
		return l.m.host.loadInTurn(ctx, l.m, full, callers)
	}
	return err
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
	for _, other := range h.o.Models() {
		if !slices.Contains(busy, other.Name) {
			continue
		}
		defer other.Lifecycle.endWait(other.Lifecycle.beginWait())
		if !other.Lifecycle.makeIdle(wait) {
			return false, nil
		}
	}
	return true, m.Lifecycle.Load(ctx, false)
}

// chooseBusy chooses the models that are to end what they run, the least recently used first, and no more than it
// takes; false: not even all of them would do.
func chooseBusy(full *NoRoomError, need int64, callers []string) (names []string, ok bool) {
	free := full.Bound
	for _, h := range full.Holders {
		free -= h.Memory
	}
	ending := slices.DeleteFunc(slices.Clone(full.Holders), func(h Holder) bool {
		return !h.Ends || slices.Contains(callers, h.Name)
	})
	slices.SortStableFunc(ending, func(a, b Holder) int { return a.Used.Compare(b.Used) })
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

// beginWait notes that another model waits for this one's memory, and when.
func (l *Lifecycle) beginWait() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters++
	return time.Now()
}

// endWait ends that. If the model is still loaded, it begins a new turn, which is as long as the wait was.
func (l *Lifecycle) endWait(began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters--
	if l.waiters > 0 || !l.givesWay.Load() {
		return
	}
	l.givesWay.Store(false)
	if l.state == Ready {
		l.turnEnds = time.Now().Add(max(leastTurn, time.Since(began)))
		l.open.Store(true)
		l.wake()
	}
}

// makeIdle waits until the model runs nothing, or leaves the server; false: ctx has ended. Once its turn is over, new
// requests wait.
func (l *Lifecycle) makeIdle(ctx context.Context) bool {
	for {
		l.mu.Lock()
		state, changed, turn, closed := l.state, l.changed, time.Until(l.turnEnds), l.closed
		if state == Ready && turn <= 0 && !l.givesWay.Load() {
			l.givesWay.Store(true)
			l.open.Store(false)
			l.m.Log.Info("the model ends what it runs, to make room for another")
		}
		l.mu.Unlock()
		if closed || state != Loading && state != Unloading && (state != Ready || l.isIdle()) {
			return true
		}
		if !l.awaitIdle(ctx, state, changed, turn) {
			return false
		}
	}
}

// awaitIdle waits until the model may be idle, changes its state, or has ended its turn; false: ctx has ended.
func (l *Lifecycle) awaitIdle(ctx context.Context, state State, changed <-chan struct{}, turn time.Duration) bool {
	var idle <-chan struct{}
	wait := time.Duration(0) // no limit
	if state == Ready {
		wait = max(turn, 0)
		if idle = l.m.Service.Idle(); l.m.Service.InFlight() == 0 {
			idle, wait = nil, enterTime // requests are about to enter
		}
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
