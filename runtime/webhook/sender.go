package webhook

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pinion/runtime/egress"
	"pinion/runtime/logtext"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
)

// Options say how webhooks are delivered. A zero field takes its default.
type Options struct {
	// AuthToken is sent as `Authorization: Bearer`. The default is none.
	AuthToken string
	// Key signs deliveries. The default is no signature.
	Key Key
	// SignMembers means that only deliveries of predictions with predict.Request.Members are signed.
	SignMembers bool
	// UserAgent is the User-Agent of deliveries. Default: "pinion".
	UserAgent string
	// Throttle is the least time between two deliveries of logs of one prediction; negative means none.
	// Default: 500 ms.
	Throttle time.Duration
	// Timeout bounds one try. It is also how long after a prediction's end outputs are still delivered; then completed
	// supersedes them. Default: 30 s.
	Timeout time.Duration
	// Retries is how often completed is retried; negative means never. Default: 12.
	Retries int
	// Backoff is the wait before the first retry. It doubles with each retry, up to MaxBackoff, and is up to a quarter
	// longer at random. A longer Retry-After is respected, up to MaxBackoff. Defaults: 100 ms and 2 min, so that twelve
	// retries take at least 5.5 min.
	Backoff, MaxBackoff time.Duration
	// MaxRedirects is how many redirects one try may follow; negative means none. Default: 5.
	MaxRedirects int
	// MaxPending is how many outputs of one prediction may wait. Default: 256.
	MaxPending int
	// MaxRetries and MaxRetryBytes bound the predictions that wait for a retry of completed, and their memory; beyond them
	// completed is tried once. Defaults: 10 000, a quarter of Memory.
	MaxRetries    int
	MaxRetryBytes int64
	// DenyPrivate refuses connections to addresses that are not public, after redirects too. Proxies from the environment
	// are then not used, because the check would only see their address.
	DenyPrivate bool
	// MaxPendingBytes bounds the memory of ended predictions with pending events; the events of further ones are dropped.
	// Waiting outputs may take half as much beside it. Default: half of Memory.
	MaxPendingBytes int64
	// Memory is the budget for deliveries, besides the charges of their predictions; nil means no limit.
	Memory *memory.Budget
	// OnDelivery, if set, receives the outcome of each delivery: the event's name ("completed"), and Delivered, Failed or
	// Dropped. It may be called with a prediction's lock held: it must not block or call a prediction.
	OnDelivery func(event, outcome string)
	// Logger logs failed deliveries. The default is none.
	Logger *slog.Logger
}

// The outcomes of a delivery.
const (
	Delivered = "delivered" // the receiver accepted it
	Failed    = "failed"    // the receiver did not accept it, and it is not retried
	Dropped   = "dropped"   // not sent: a newer event superseded it, or the sender was closed
)

func (o Options) withDefaults() Options {
	o.AuthToken = strings.TrimSpace(o.AuthToken)
	o.UserAgent = cmp.Or(o.UserAgent, "pinion")
	o.Throttle = max(0, cmp.Or(o.Throttle, 500*time.Millisecond))
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Retries = max(0, cmp.Or(o.Retries, 12))
	o.Backoff = cmp.Or(o.Backoff, 100*time.Millisecond)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 2*time.Minute)
	o.MaxRedirects = max(0, cmp.Or(o.MaxRedirects, 5))
	o.MaxPending = max(1, cmp.Or(o.MaxPending, 256))
	o.MaxRetries = cmp.Or(o.MaxRetries, 10_000)
	o.MaxRetryBytes = cmp.Or(o.MaxRetryBytes, o.Memory.Quarter())
	o.MaxPendingBytes = cmp.Or(o.MaxPendingBytes, 2*o.Memory.Quarter())
	if o.OnDelivery == nil {
		o.OnDelivery = func(string, string) {}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Sender delivers webhooks. It is safe for concurrent use.
type Sender struct {
	o       Options
	client  *egress.Client
	backoff egress.Backoff
	encoder predict.Encoder
	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	waits   context.Context // ends with Hasten, when nothing waits for a retry any more
	hasten  context.CancelFunc
	// Tests replace these.
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration, wake <-chan struct{})

	outputs atomic.Int64 // bytes of outputs that wait

	mu         sync.Mutex
	running    int           // deliveries with a goroutine
	ended      int           // deliveries whose prediction has ended
	retries    int           // deliveries that may be retried
	retryBytes int64         // of retries
	reserved   int64         // bytes of ended
	changed    chan struct{} // closed when running or ended falls; nil if no caller waits
}

// New returns a sender.
func New(o Options) *Sender {
	o = o.withDefaults()
	s := &Sender{o: o, backoff: egress.Backoff{First: o.Backoff, Most: o.MaxBackoff}, now: time.Now, sleep: egress.Sleep}
	s.client = egress.New(egress.Options{
		UserAgent: o.UserAgent, MaxRedirects: o.MaxRedirects, DenyPrivate: o.DenyPrivate, ConnectTimeout: 10 * time.Second,
		// Most events are tried once, so they must not meet a connection that the receiver is about to close. Servers keep
		// idle ones for 5 s or more.
		IdleTimeout: 2 * time.Second,
		// A receiver that hangs must not exhaust the process's descriptors.
		MaxPerHost: 1024, MaxIdlePerHost: 256, MaxIdle: 1024,
	})
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.waits, s.hasten = context.WithCancel(s.ctx)
	return s
}

// target parses the URL of a prediction's webhook. It returns nil if nothing can be sent there.
func (s *Sender) target(webhook, id string) *url.URL {
	u, err := url.Parse(webhook)
	if err != nil || !egress.Sendable(u) { // httpd has checked the URL, and the log must not show it
		s.o.Logger.Warn("cannot deliver webhook events", "prediction_id", logtext.Clip(id), "error", ErrURL)
		return nil
	}
	return u
}

// Pending returns how many ended predictions have events that are not delivered yet.
func (s *Sender) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Drain waits until the events of ended predictions are delivered or dropped. If ctx ends first it returns its cause.
func (s *Sender) Drain(ctx context.Context) error {
	if err := s.wait(ctx, func() int { return s.ended }); err != nil {
		return fmt.Errorf("deliver webhooks: %w", err)
	}
	return nil
}

// Hasten ends all waits between deliveries, because the server stops: an event that waits for a retry is tried once
// more, at once, and an event that is delivered later is tried once. Waiting outputs are dropped if a newer event
// follows.
func (s *Sender) Hasten() { s.hasten() }

// hastened reports whether Hasten was called.
func (s *Sender) hastened() bool { return s.waits.Err() != nil }

// Close ends all deliveries. Events of predictions that end later are dropped.
func (s *Sender) Close() {
	s.cancel(ErrClosed)
	_ = s.wait(context.Background(), func() int { return s.running })
	s.client.Close()
}

// wait returns when count is zero, or when ctx ends.
func (s *Sender) wait(ctx context.Context, count func() int) error {
	for {
		s.mu.Lock()
		if count() == 0 {
			s.mu.Unlock()
			return nil
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// count adds to running and ended.
func (s *Sender) count(running, ended int) {
	s.mu.Lock()
	s.running += running
	s.ended += ended
	if (running < 0 || ended < 0) && s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	s.mu.Unlock()
}

// reserve reserves memory for an ended prediction. It returns false if that is too much; a single prediction is never
// too large.
func (s *Sender) reserve(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reserved > 0 && s.reserved+size > s.o.MaxPendingBytes {
		return false
	}
	s.reserved += size
	return true
}

// unreserve undoes reserve.
func (s *Sender) unreserve(size int64) {
	s.mu.Lock()
	s.reserved -= size
	s.mu.Unlock()
}

// charge charges a waiting output. It returns false if outputs take half of MaxPendingBytes, or if there is no room.
func (s *Sender) charge(bytes int64) bool {
	if s.outputs.Add(bytes) <= s.o.MaxPendingBytes/2 && s.o.Memory.Take(bytes, bytes) {
		return true
	}
	s.outputs.Add(-bytes)
	return false
}

// uncharge undoes charge. The cost of an item that was not charged is 0.
func (s *Sender) uncharge(bytes int64) {
	if bytes > 0 {
		s.outputs.Add(-bytes)
		s.o.Memory.Free(bytes)
	}
}

// reserveRetry reserves memory for a record that may wait for a retry. It returns false if there are too many; a single
// record is never too large.
func (s *Sender) reserveRetry(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retries >= s.o.MaxRetries || s.retries > 0 && s.retryBytes+size > s.o.MaxRetryBytes {
		return false
	}
	s.retries++
	s.retryBytes += size
	return true
}

// unreserveRetry undoes reserveRetry.
func (s *Sender) unreserveRetry(size int64) {
	s.mu.Lock()
	s.retries--
	s.retryBytes -= size
	s.mu.Unlock()
}
