package slot

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// timerTest is a timer and its time, which begins with it.
type timerTest struct {
	*batchTimer
	mu     sync.Mutex // the pool's
	origin time.Time
	fired  chan time.Duration
}

func newTimerTest(t *testing.T) *timerTest {
	b := &timerTest{origin: time.Now(), fired: make(chan time.Duration, 100)}
	b.batchTimer = assert.Must(newBatchTimer(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.firesAt = 0
		b.fired <- b.now()
	}))(t)
	t.Cleanup(b.stop)
	return b
}

func (b *timerTest) now() time.Duration { return time.Since(b.origin) }

// at sets the timer to fire after so much time, 0: not at all. It returns when that is, and when the timer fires.
func (b *timerTest) at(after time.Duration) (at, firesAt time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if after > 0 {
		at = now + after
	}
	b.set(at, now)
	return at, b.firesAt
}

// wait returns when it fired.
func (b *timerTest) wait(t *testing.T) time.Duration {
	t.Helper()
	select {
	case at := <-b.fired:
		return at
	case <-time.After(assert.Timeout):
		t.Fatalf("the timer has not fired within %s, want it to fire", assert.Timeout)
		return 0
	}
}

// fires sets the timer, checks that it is set anew, and waits for it.
func (b *timerTest) fires(t *testing.T, after time.Duration) {
	t.Helper()
	want, set := b.at(after)
	assert.Equal(t, "set", set, want)
	at := b.wait(t)
	assert.True(t, at >= want, "it fired at %s, want %s", at, want)
}

// TestBatchtimer_TimerFires in time, and not before.
func TestBatchtimer_TimerFires(t *testing.T) {
	assert.NoLeak(t)
	b := newTimerTest(t)
	for range 20 {
		b.fires(t, 300*time.Microsecond)
	}
}

// TestBatchtimer_TimerIsLeftAlone if it fires soon enough, and set anew if it does not or has fired.
func TestBatchtimer_TimerIsLeftAlone(t *testing.T) {
	assert.NoLeak(t)
	b := newTimerTest(t)
	first, _ := b.at(time.Hour)
	later, set := b.at(2 * time.Hour)
	assert.True(t, set == first, "it fires at %s, and is wanted at %s: set for %s", first, later, set)
	sooner, set := b.at(time.Minute)
	assert.True(t, set == sooner, "it is wanted at %s: set for %s", sooner, set)
	b.fires(t, time.Microsecond)
	b.fires(t, time.Millisecond)
}

// TestBatchtimer_TimerIsUnset: 0 unsets it.
func TestBatchtimer_TimerIsUnset(t *testing.T) {
	assert.NoLeak(t)
	b := newTimerTest(t)
	b.at(time.Hour)
	_, set := b.at(0)
	var left unix.ItimerSpec
	if err := unix.TimerfdGettime(b.fd, &left); err != nil || set != 0 || left.Value.Nano() != 0 {
		t.Errorf("unset, and set for %s; the timer has %d ns to go, %v, want 0 and 0", set, left.Value.Nano(), err)
	}
	b.fires(t, time.Millisecond)
}
