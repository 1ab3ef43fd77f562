package supervise

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/runtime/slot"
	"pinion/tests/assert"
)

// journal is a logger's end that keeps what is logged.
type journal struct {
	mu      sync.Mutex
	records []slog.Record
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, r)
	return nil
}

// lines are the model's own: "stream prediction text".
func (j *journal) lines() (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.records {
		var stream, prediction string
		r.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "stream":
				stream = a.Value.String()
			case "prediction_id":
				prediction = a.Value.String()
			}
			return true
		})
		if stream != "" {
			lines = append(lines, stream+" "+prediction+" "+r.Message)
		}
	}
	return lines
}

// mistakes returns the supervisor's own complaints of itself.
func (j *journal) mistakes() (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.records {
		if strings.Contains(r.Message, "illegal") {
			found = append(found, r.Message)
		}
	}
	return found
}

// stage is a supervisor whose workers play a scene.
type stage struct {
	*supervised
	journal *journal
	mu      sync.Mutex
	pauses  []time.Duration // before restarts, which do not happen
	states  []State         // in order, each change once
}

// act starts a supervisor over workers that play ref.
func act(t *testing.T, ref string, change func(*Options)) *stage {
	t.Helper()
	s := enact(t, ref, change)
	go s.Run()
	return s
}

// serving is act, once its worker is ready.
func serving(t *testing.T, ref string, change func(*Options)) *stage {
	t.Helper()
	s := act(t, ref, change)
	s.until("ready", ready)
	return s
}

// enact is act, except for the start.
func enact(t *testing.T, ref string, change func(*Options)) *stage {
	t.Helper()
	noLeak(t)
	s := &stage{journal: &journal{}}
	s.supervised = prepare(t, ref, func(o *Options) {
		o.Logger = slog.New(s.journal)
		o.Pool = slot.NewPool(slot.Options{Queue: 100})
		changed := o.Hooks.OnChange
		o.Hooks.OnChange = func() {
			s.note()
			changed()
		}
		if change != nil {
			change(o)
		}
	})
	s.after = func(d time.Duration) <-chan time.Time {
		s.mu.Lock()
		s.pauses = append(s.pauses, d)
		s.mu.Unlock()
		return time.After(0)
	}
	t.Cleanup(func() {
		for _, m := range s.journal.mistakes() {
			t.Errorf("the journal has the mistake %q", m)
		}
	})
	return s
}

func (s *stage) note() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.Status().State; len(s.states) == 0 || s.states[len(s.states)-1] != now {
		s.states = append(s.states, now)
	}
}

// end waits until no worker follows.
func (s *stage) end() Status {
	s.t.Helper()
	select {
	case <-s.Done():
	case <-time.After(assert.Timeout):
		s.t.Fatalf("it runs after %s, want its end: %+v\n%s", assert.Timeout, s.Status(), assert.Stacks())
	}
	return s.Status()
}

// stop has the worker leave, and waits until it has.
func (s *stage) stop() Status {
	s.t.Helper()
	s.Stop()
	return s.end()
}

// call is a prediction in flight.
type call struct {
	*slot.Call
	t    *testing.T
	done chan struct{}
}

// ask submits a prediction whose input is text, a JSON value.
func (s *stage) ask(name, text string) *call {
	s.t.Helper()
	assert.NoError(s.t, s.pool.Admit(nil))
	c := &call{slot.NewCall(name, []byte(text), nil), s.t, make(chan struct{})}
	s.pool.Submit(c.Call)
	go func() {
		c.Wait()
		close(c.done)
	}()
	return c
}

func (c *call) result() *slot.Result {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(assert.Timeout):
		c.t.Fatalf("%s runs after %s, want its end\n%s", c.Name, assert.Timeout, assert.Stacks())
	}
	return &c.Result
}

// says checks that a text holds each of the parts.
func says(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		assert.Contains(t, what, text, part)
	}
}

// noLeak fails the test where it ends with more descriptors, goroutines or child processes than it began with.
func noLeak(t *testing.T) {
	t.Helper()
	assert.NoLeak(t, func() {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		assert.True(t, err == unix.ECHILD, "a process of ours is left: %v, want %d", err, unix.ECHILD)
	})
}
