package batch

import (
	"errors"
	"fmt"
	"time"
)

const LargestSize = 4096

var (
	// ErrSize means that a batch's size is not between 1 and LargestSize.
	ErrSize = errors.New("batch size must be between 1 and 4096")
	// ErrWait means that a batch's wait is neither "adaptive" nor a duration of zero or more.
	ErrWait = errors.New(`batch wait must be "adaptive" or a duration such as 2ms, 0 or more`)
)

// Wait bounds how long items may be held back from an idle worker. The zero Wait is adaptive.
type Wait struct {
	fixed bool
	bound time.Duration
}

// AtMost returns a fixed bound; zero or less never waits.
func AtMost(d time.Duration) Wait { return Wait{fixed: true, bound: max(0, d)} }

// ParseWait reads what String writes, or any duration of zero or more.
func ParseWait(text string) (Wait, error) {
	if text == "adaptive" {
		return Wait{}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return Wait{}, fmt.Errorf("parse %q: %w", text, ErrWait)
	}
	return AtMost(d), nil
}

func (w Wait) String() string {
	if !w.fixed {
		return "adaptive"
	}
	return w.bound.String()
}

// The bounds of the adaptive wait: for all waits of a batch together, absolute and as a share of the batch's expected
// duration; and for the wait for each next arrival, as a share of that duration.
const (
	adaptiveBound = 5 * time.Millisecond
	totalShare    = 0.5
	nextShare     = 0.1
)

// end returns the latest time at which a batch leaves that is expected to take cost. last is the latest arrival.
func (w Wait) end(holdStart, last, cost time.Duration) time.Duration {
	if w.fixed {
		return holdStart + w.bound
	}
	return min(
		holdStart+adaptiveBound,
		holdStart+time.Duration(totalShare*float64(cost)),
		max(holdStart, last)+time.Duration(nextShare*float64(cost)),
	)
}

// Options are the batching options that the model's author set.
type Options struct {
	// MaxSize is the largest batch, 1 to LargestSize.
	MaxSize int
	// MaxWait bounds how long items are held back from an idle worker. Default: adaptive.
	MaxWait Wait
}

// Override holds the options that an operator overrides.
type Override struct {
	MaxSize int   // 0 means the author's
	MaxWait *Wait // nil means the author's
}

func (o Options) With(v Override) Options {
	if v.MaxSize != 0 {
		o.MaxSize = v.MaxSize
	}
	if v.MaxWait != nil {
		o.MaxWait = *v.MaxWait
	}
	return o
}

// Check returns ErrSize if MaxSize is out of range.
func (o Options) Check() error {
	if o.MaxSize < 1 || o.MaxSize > LargestSize {
		return fmt.Errorf("%w, not %d", ErrSize, o.MaxSize)
	}
	return nil
}
