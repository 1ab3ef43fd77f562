package predict

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"pinion/tests/assert"
)

// TestEvents_LastSubscriberCancels what a stream request made, and nothing else.
func TestEvents_LastSubscriberCancels(t *testing.T) {
	for _, mode := range []Mode{Sync, Async, Stream} {
		r := &runner{}
		p := New("a", &Request{ID: "a", Mode: mode}, epoch, r, Options{})
		first, _ := p.Subscribe()
		two, _ := p.Subscribe()
		first.Close()
		first.Close()
		assert.Equal(t, "canceled while one", r.cancels.Load(), 0)
		two.Close()
		got := r.cancels.Load() == 1
		assert.True(t, got == (mode == Stream), "mode %d: canceled: %v, want %t", mode, got, mode == Stream)
	}
	r := &runner{}
	p := New("a", &Request{Mode: Stream}, epoch, r, Options{})
	s, _ := p.Subscribe()
	p.End(Result{Status: Succeeded}, epoch)
	s.Close()
	assert.Equal(t, "cancels of what had ended", r.cancels.Load(), 0)
}

func TestEvents_TooManySubscribers(t *testing.T) {
	p := observed(Options{})
	var last *Subscription
	for range MaxSubscribers {
		s := assert.Must(p.Subscribe())(t)
		last = s
	}
	_, err := p.Subscribe()
	assert.True(t, errors.Is(err, ErrTooManySubscribers), "got %v, want ErrTooManySubscribers", err)
	last.Close()
	_, err = p.Subscribe()
	assert.True(t, err == nil, "one has left: got %v, want no error", err)
	_, err = New("a", &Request{}, epoch, nil, Options{}).Subscribe()
	assert.True(t, errors.Is(err, ErrNotObserved), "a prediction without events has a subscriber: %v, want ErrNotObserved", err)
}

// TestEvents_SubscriberThatStops while it waits.
func TestEvents_SubscriberThatStops(t *testing.T) {
	p := observed(Options{})
	s, _ := p.Subscribe()
	stop := make(chan struct{})
	close(stop)
	_, err := s.Next(make([]Event, 0, 1), stop)
	assert.True(t, errors.Is(err, ErrStopped), "got %v, want ErrStopped", err)
}

// TestEvents_SubscribersInParallel: each sees each event once, in order, whenever it came.
func TestEvents_SubscribersInParallel(t *testing.T) {
	p := observed(Options{History: 1 << 16})
	var wg sync.WaitGroup
	var seen [8]atomic.Uint64
	for i := range seen {
		wg.Go(func() {
			s, err := p.Subscribe()
			if err != nil {
				t.Error(err)
				return
			}
			n := uint64(0)
			for {
				got, err := s.Next(make([]Event, 0, 64), nil)
				for _, e := range got {
					if e.Kind == EventOutput {
						assert.Equal(t, "event", e.Index, n)
						n++
					}
				}
				seen[i].Store(n)
				if err != nil {
					assert.True(t, errors.Is(err, io.EOF) && n == 20_000, "%d events, %v, want error io.EOF and n 20_000", n, err)
					return
				}
			}
		})
	}
	for i := range uint64(20_000) {
		p.Output(fmt.Append(nil, i))
		for k := range seen { // none may lag, which is another test's matter
			for i > 500 && seen[k].Load() < i-500 {
				runtime.Gosched()
			}
		}
	}
	p.End(Result{Status: Succeeded, Yielded: true}, epoch)
	wg.Wait()
}
