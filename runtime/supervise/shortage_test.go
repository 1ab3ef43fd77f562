package supervise

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

// short makes the first starts fail with an error.
func short(starts int, err error) func(*Options) {
	var n atomic.Int64
	return func(o *Options) {
		o.Policy.Linger = true
		o.Hooks.Prepare = func(*ipc.WorkerConfig) error {
			if n.Add(1) <= int64(starts) {
				return fmt.Errorf("make the folder: %w", err)
			}
			return nil
		}
	}
}

func TestStart_ShortageIsNoDeath(t *testing.T) {
	for _, err := range []error{syscall.EMFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC} {
		t.Run(err.Error(), func(t *testing.T) {
			s := act(t, "lives", short(20, err))
			st := s.until("ready", ready)
			assert.True(t, !st.Defunct && !st.Blocked && st.Restarts == 0 && st.NextStart.IsZero() && !st.Setup.Failed,
				"got %+v, want a worker like any other", st)
			s.stop()
			pauses := fmt.Sprint(s.pauses[:5], len(s.pauses))
			assert.Equal(t, "pauses", pauses, "[500ms 1s 2s 4s 5s] 20")
		})
	}
}

func TestStart_ShortageOfLaterWorker(t *testing.T) {
	var starts atomic.Int64
	s := act(t, "lives crashes=1", func(o *Options) {
		o.Policy.Linger = true
		o.Hooks.Prepare = func(*ipc.WorkerConfig) error {
			if n := starts.Add(1); n > 1 && n < 12 {
				return syscall.EAGAIN
			}
			return nil
		}
	})
	st := s.until("ready again", func(st Status) bool { return ready(st) && st.Restarts == 1 })
	assert.True(t, !st.Defunct && !st.Blocked, "got %+v, want neither defunct nor blocked", st)
	s.stop()
}

func TestStart_ShortageIsShown(t *testing.T) {
	var free atomic.Bool
	s := act(t, "lives", func(o *Options) {
		o.Policy.Linger = true
		o.Hooks.Prepare = func(*ipc.WorkerConfig) error {
			if free.Load() {
				return nil
			}
			return syscall.EMFILE
		}
	})
	st := s.until("blocked", func(st Status) bool { return st.Blocked && st.State == Exited })
	assert.True(t, !st.Defunct && !st.Setup.Failed && !st.NextStart.IsZero(),
		"got %+v, want a time of the next start, and no failed setup", st)
	says(t, "the last exit", st.LastExit, syscall.EMFILE.Error())
	free.Store(true)
	s.until("ready", ready)
	s.stop()
}

// TestStart_ShortageInWorker: its process was started, and found no threads for itself.
func TestStart_ShortageInWorker(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "over")
	s := act(t, "lacks until "+marker, func(o *Options) { o.Policy.Linger = true })
	st := s.until("blocked", func(st Status) bool { return st.Blocked })
	assert.True(t, !st.Defunct && !st.Setup.Failed, "got %+v, want neither defunct nor a failed setup", st)
	says(t, "the last exit", st.LastExit, syscall.EAGAIN.Error())
	assert.NoError(t, os.WriteFile(marker, nil, 0o600))
	st = s.until("ready", ready)
	assert.True(t, st.Restarts == 0 && !st.Blocked, "got %+v, want a worker like any other", st)
	s.stop()
}

func TestStart_ShortageEndsWithNever(t *testing.T) {
	s := act(t, "lives", func(o *Options) {
		short(1, syscall.EAGAIN)(o)
		o.Policy.Restart, o.Policy.Linger = Never, false
	})
	st := s.end()
	assert.True(t, st.Defunct && st.Hopeless, "got %+v, want defunct", st)
}

func TestStart_SuccessorWaitsForEndOfShortage(t *testing.T) {
	for _, renew := range []func(*stage){
		func(s *stage) { s.Renew("the test wants it") },
		func(s *stage) { s.RenewOnce("the test wants it") },
	} {
		var starts atomic.Int64
		s := act(t, "lives", func(o *Options) {
			o.Policy.Linger = true
			o.Hooks.Prepare = func(*ipc.WorkerConfig) error {
				if n := starts.Add(1); n > 1 && n < 10 {
					return syscall.ENOMEM
				}
				return nil
			}
		})
		s.until("ready", ready)
		renew(s)
		s.until("renewed", settled(1))
		s.stop()
	}
}

func TestPreloader_ShortageIsTriedAgain(t *testing.T) {
	var starts atomic.Int64
	p := NewPreloader(PreloaderOptions{
		Exe: filepath.Join(t.TempDir(), "missing"), Logger: slog.New(slog.DiscardHandler), OnChange: func() {},
		Prepare: func(*ipc.WorkerConfig) error { starts.Add(1); return syscall.ENOSPC },
	})
	p.Start()
	defer p.Close()
	<-p.settled.closed
	st := p.Health()
	assert.Equal(t, "the state", st.State, PreloaderExited)
	assert.Eventually(t, "another start", func() bool { return starts.Load() > 1 })
}

func TestBreaker_TriesOneWorkerAgain(t *testing.T) {
	s := act(t, "lives crashes=1 crashes=2 crashes=3 crashes=4 crashes=5 crashes=6",
		func(o *Options) { o.Policy.Linger = true })
	st := s.until("ready for good", func(st Status) bool { return ready(st) && st.Restarts == 6 })
	assert.True(t, !st.Defunct && !st.Hopeless && st.NextStart.IsZero(), "got %+v, want a worker that serves", st)
	assert.Equal(t, "an answer of generation", s.generation("after all"), "7")
	s.stop()
	want := fmt.Sprint([]time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, firstPause, 0, 2 * firstPause, 0})
	assert.Equal(t, "pauses", fmt.Sprint(s.pauses), want)
}

func TestBreaker_IsDefunctWhileOneIsTried(t *testing.T) {
	wait := make(chan time.Time)
	s := enact(t, "lives crashes=1 crashes=2 crashes=3 crashes=4 crashes=5", func(o *Options) { o.Policy.Linger = true })
	quick := s.after
	s.after = func(d time.Duration) <-chan time.Time {
		if d >= firstPause-time.Second {
			return wait
		}
		return quick(d)
	}
	go s.Run()
	st := s.until("defunct", defunct)
	assert.True(t, !st.Hopeless && !st.SetupFailed && !st.NextStart.IsZero(), "got %+v, want defunct until the next start", st)
	wait <- time.Now()
	s.until("ready", func(st Status) bool {
		assert.False(t, st.State != Ready && !st.Defunct, "got %+v, want defunct until it is ready", st)
		return ready(st) && !st.Defunct
	})
	s.stop()
}

func TestBreaker_NeverStaysDefunct(t *testing.T) {
	s := act(t, "lives crashes=1", func(o *Options) { o.Policy.Linger, o.Policy.Restart = true, Never })
	st := s.until("defunct", defunct)
	assert.True(t, st.Hopeless && st.NextStart.IsZero(), "got %+v, want no other start", st)
	s.stop()
}

func TestBreaker_PausesDouble(t *testing.T) {
	b, s, now := newBreaker(), &Supervisor{}, time.Unix(1e9, 0)
	for i, want := range []time.Duration{30, 60, 120, 240, 300, 300} {
		b.trip(s, now)
		yes, wait, _ := b.mayStart(s, now)
		assert.True(t, !yes && wait == want*time.Second, "pause %d: got %v, %v, want %v", i, yes, wait, want*time.Second)
		_, hope := b.state()
		assert.True(t, hope == (i < hopelessPauses-1), "pause %d: got hope %v, want %t", i, hope, i < hopelessPauses-1)
		now = now.Add(want * time.Second)
		yes, _, _ = b.mayStart(s, now)
		assert.True(t, yes, "pause %d: got no start at its end", i)
	}
	b.served()
	b.trip(s, now)
	_, wait, _ := b.mayStart(s, now)
	assert.True(t, wait == firstPause, "after a success: got %v, want %v", wait, firstPause)
}

func TestBreaker_TriesOneOfFleet(t *testing.T) {
	b, first, second, now := newBreaker(), &Supervisor{o: Options{Index: 0}}, &Supervisor{o: Options{Index: 1}},
		time.Unix(1e9, 0)
	b.trip(first, now)
	b.trip(second, now)
	now = now.Add(firstPause)
	yes, _, _ := b.mayStart(first, now)
	assert.TrueNow(t, yes, "got no start, want that of the first")
	yes, _, changed := b.mayStart(second, now)
	assert.TrueNow(t, !yes, "got two starts, want one")
	b.ready(first)
	select {
	case <-changed:
	default:
		t.Error("got no wake-up of the second, want one")
	}
	yes, _, _ = b.mayStart(second, now)
	assert.True(t, yes, "got no start of the second, want one: the first is ready")
}
