//go:build cgo

package nvml

import (
	"cmp"
	"sync"
	"time"
)

// Sample is the load of one GPU.
type Sample struct {
	Index       int     // its number in nvidia-smi
	MemoryUsed  int64   // bytes, of all processes
	MemoryTotal int64   // bytes
	Utilization float64 // 0 to 1; negative if the GPU does not report it
}

// Options of a Sampler. A zero field takes its default.
type Options struct {
	Library string        // default "libnvidia-ml.so.1"
	Timeout time.Duration // how long Samples may take. Default 200 ms
}

// Sampler reads the GPUs. Its methods may be called by any goroutine.
type Sampler struct {
	o    Options
	read func() []Sample // by one goroutine at a time

	mu       sync.Mutex
	sampling *sampling // the one in progress, or nil
}

// sampling is one reading of all GPUs.
type sampling struct {
	done    chan struct{}
	late    bool // the caller does not wait for it any more
	samples []Sample
}

// New returns a sampler. The library is opened by the first call of Samples.
func New(o Options) *Sampler {
	o.Library = cmp.Or(o.Library, "libnvidia-ml.so.1")
	if o.Timeout <= 0 {
		o.Timeout = 200 * time.Millisecond
	}
	return &Sampler{o: o, read: reader(o.Library)}
}

// Samples returns a sample of each GPU that can be read now. It returns none if the driver takes too long.
func (s *Sampler) Samples() []Sample {
	s.mu.Lock()
	l := s.sampling
	if l == nil {
		l = &sampling{done: make(chan struct{})}
		s.sampling = l
		go s.sample(l)
	}
	late := l.late
	s.mu.Unlock()
	if late { // a call has waited for long enough
		return nil
	}
	timer := time.NewTimer(s.o.Timeout)
	defer timer.Stop()
	select {
	case <-l.done:
		return l.samples
	case <-timer.C:
		s.mu.Lock()
		l.late = true
		s.mu.Unlock()
		return nil
	}
}

func (s *Sampler) sample(l *sampling) {
	l.samples = s.read()
	s.mu.Lock()
	s.sampling = nil
	s.mu.Unlock()
	close(l.done)
}
