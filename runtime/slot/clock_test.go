package slot

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/tests/await"
)

// bell is a clock beside its time, which begins with it.
type bell struct {
	*clock
	mu     sync.Mutex // the pool's
	origin time.Time
	rung   chan time.Duration
}

func newBell(t *testing.T) *bell {
	b := &bell{origin: time.Now(), rung: make(chan time.Duration, 100)}
	var err error
	if b.clock, err = newClock(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.set = 0
		b.rung <- b.now()
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.stop)
	return b
}

func (b *bell) now() time.Duration { return time.Since(b.origin) }

// at has it ring after so much time, 0: not at all, and returns when it is set to ring then.
func (b *bell) at(after time.Duration) (moment, set time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if after > 0 {
		moment = now + after
	}
	b.ring(moment, now)
	return moment, b.set
}

// wait returns when it rang.
func (b *bell) wait(t *testing.T) time.Duration {
	t.Helper()
	select {
	case at := <-b.rung:
		return at
	case <-time.After(await.Patience):
		t.Fatal("it never rings")
		return 0
	}
}

// rings has it ring after so much time, and checks that it is set anew for that, and does.
func (b *bell) rings(t *testing.T, after time.Duration) {
	t.Helper()
	moment, set := b.at(after)
	if set != moment {
		t.Errorf("set for %s, want %s", set, moment)
	}
	if at := b.wait(t); at < moment {
		t.Errorf("it rang at %s, want %s", at, moment)
	}
}

// TestTheClockRings when it is to, and not before.
func TestTheClockRings(t *testing.T) {
	await.NoLeak(t)
	b := newBell(t)
	for range 20 {
		b.rings(t, 300*time.Microsecond)
	}
}

// TestTheClockIsLeftAlone where it rings soon enough, and set anew where it does not or has rung.
func TestTheClockIsLeftAlone(t *testing.T) {
	await.NoLeak(t)
	b := newBell(t)
	first, _ := b.at(time.Hour)
	if later, set := b.at(2 * time.Hour); set != first {
		t.Errorf("it rings at %s, and is wanted at %s: set for %s", first, later, set)
	}
	if sooner, set := b.at(time.Minute); set != sooner {
		t.Errorf("it is wanted at %s: set for %s", sooner, set)
	}
	b.rings(t, time.Microsecond)
	b.rings(t, time.Millisecond)
}

// TestTheClockIsStilled: 0 takes back what it was set for.
func TestTheClockIsStilled(t *testing.T) {
	await.NoLeak(t)
	b := newBell(t)
	b.at(time.Hour)
	_, set := b.at(0)
	var left unix.ItimerSpec
	if err := unix.TimerfdGettime(b.fd, &left); err != nil || set != 0 || left.Value.Nano() != 0 {
		t.Errorf("stilled, and set for %s; the timer has %d ns to go, %v", set, left.Value.Nano(), err)
	}
	b.rings(t, time.Millisecond)
}
