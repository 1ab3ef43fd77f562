package files

import (
	"context"
	"io"
	"sync"
	"time"
)

// pace ends a transfer when its server is silent for Options.Stall, or slower than Options.MinRate over that time. A
// nil *pace does nothing.
type pace struct {
	stall  time.Duration
	least  int64 // bytes in stall
	timer  *time.Timer
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	since time.Time // when the count began
	moved int64     // bytes since then
}

// limit adds the limits of one transfer to ctx: Options.Timeout, and those of a pace. stop ends both; the limit is then
// the error, not the network error that it led to.
func (s *Store) limit(ctx context.Context, err *error) (limited context.Context, p *pace, stop func()) {
	timed, stopTime := context.WithCancel(ctx)
	if s.options.Timeout > 0 {
		timed, stopTime = context.WithTimeoutCause(ctx, s.options.Timeout, ErrTimeout)
	}
	limited, cancel := context.WithCancelCause(timed)
	end := func() {
		if *err != nil && limited.Err() != nil {
			*err = context.Cause(limited)
		}
		cancel(nil)
		stopTime()
	}
	stall := s.options.Stall
	if stall <= 0 {
		return limited, nil, end
	}
	p = &pace{
		stall: stall, least: int64(stall.Seconds() * float64(s.options.MinRate)), cancel: cancel, since: time.Now(),
		timer: time.AfterFunc(stall, func() { cancel(ErrStalled) }),
	}
	return limited, p, func() { p.timer.Stop(); end() }
}

// begin restarts the count when the content begins.
func (p *pace) begin() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Reset(p.stall)
	p.since, p.moved = time.Now(), 0
}

// add counts bytes that were moved.
func (p *pace) add(n int) {
	if p == nil || n <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Reset(p.stall)
	p.moved += int64(n)
	if now := time.Now(); now.Sub(p.since) >= p.stall {
		if p.moved < p.least {
			p.cancel(ErrSlow)
		}
		p.since, p.moved = now, 0
	}
}

// pacedReader counts what is read.
type pacedReader struct {
	from io.Reader
	pace *pace
}

func (r *pacedReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	r.pace.add(n)
	return n, err
}
