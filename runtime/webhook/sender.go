package webhook

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/publicnet"
)

// Options say how webhooks are delivered. A zero field takes its default.
type Options struct {
	// AuthToken is sent as `Authorization: Bearer`. Default: none.
	AuthToken string
	// UserAgent is what deliveries call themselves. Default: "pinion".
	UserAgent string
	// Throttle is the least time between two deliveries of logs of one prediction; negative: none.
	// Default: 500 ms.
	Throttle time.Duration
	// Timeout is how long one try may take. It is also how long after the end of a prediction outputs
	// may still be delivered before completed supersedes those that wait. Default: 30 s.
	Timeout time.Duration
	// Retries is how often completed is tried again; negative: never. Default: 12.
	Retries int
	// Backoff is the wait before the first retry; each further one is twice as long, up to
	// MaxBackoff. A Retry-After that asks for more is honoured up to MaxBackoff. Defaults: 100 ms, and 2 min,
	// with which twelve retries take five and a half minutes at least.
	Backoff, MaxBackoff time.Duration
	// MaxRedirects is how many redirects one try may follow; negative: none. Default: 5.
	MaxRedirects int
	// MaxPending is how many outputs of one prediction may wait. Default: 256.
	MaxPending int
	// MaxRetries and MaxRetryBytes bound the predictions, and the bytes that are held for them, that may wait for
	// another try of completed; beyond them it is tried once. Defaults: 10 000, a quarter of Memory.
	MaxRetries    int
	MaxRetryBytes int64
	// DenyPrivate refuses to connect to addresses that are not public, whatever name or redirect led there. Proxies from the
	// environment are then not used, for the check would see only their address.
	DenyPrivate bool
	// MaxHeldBytes bounds what is held for ended predictions that have something to deliver, beyond which nothing more of
	// them is delivered. Default: half of Memory.
	MaxHeldBytes int64
	// Memory is what is charged for deliveries beside what their predictions are charged for; nil: there is no limit.
	Memory *memory.Budget
	// OnDelivery, if set, is told how each delivery ended: the event by its name ("completed"), and
	// Delivered, Failed or Dropped. It may be called with a prediction's lock held: it must not block, nor call
	// one.
	OnDelivery func(event, outcome string)
	// Logger is told of deliveries that failed. Default: none.
	Logger *slog.Logger
}

// The outcomes of a delivery.
const (
	Delivered = "delivered" // the receiver took it in
	Failed    = "failed"    // it did not, and it will not be asked again
	Dropped   = "dropped"   // it was not asked: a newer state took its place, or the sender was closed
)

func (o Options) withDefaults() Options {
	o.AuthToken = strings.TrimSpace(o.AuthToken)
	if o.UserAgent == "" {
		o.UserAgent = "pinion"
	}
	o.Throttle = max(0, cmp.Or(o.Throttle, 500*time.Millisecond))
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Retries = max(0, cmp.Or(o.Retries, 12))
	o.Backoff = cmp.Or(o.Backoff, 100*time.Millisecond)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 2*time.Minute)
	o.MaxRedirects = max(0, cmp.Or(o.MaxRedirects, 5))
	o.MaxPending = max(1, cmp.Or(o.MaxPending, 256))
	o.MaxRetries = cmp.Or(o.MaxRetries, 10_000)
	o.MaxRetryBytes = cmp.Or(o.MaxRetryBytes, o.Memory.Quarter())
	o.MaxHeldBytes = cmp.Or(o.MaxHeldBytes, 2*o.Memory.Quarter())
	if o.OnDelivery == nil {
		o.OnDelivery = func(string, string) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Sender delivers webhooks. Safe for concurrent use.
type Sender struct {
	o         Options
	transport *http.Transport
	encoder   predict.Encoder
	ctx       context.Context // ends with Close
	cancel    context.CancelCauseFunc
	// Tests put their own in place of these.
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration, wake <-chan struct{})

	mu      sync.Mutex
	running int           // deliveries that have a goroutine
	ended   int           // those of them whose prediction has ended
	retries int           // those that may be tried again
	bytes   int64         // that are held for those
	held    int64         // bytes that are held for all of ended
	changed chan struct{} // closed at the next fall of running or ended, where somebody waits
}

// New makes a sender.
func New(o Options) *Sender {
	o = o.withDefaults()
	s := &Sender{o: o, transport: newTransport(o.DenyPrivate), now: time.Now, sleep: sleep}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// newTransport makes the connections of a sender. One receiver may have many predictions' deliveries
// at once, and if it hangs they must not eat up the process's descriptors.
func newTransport(denied bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	proxy := http.ProxyFromEnvironment
	if denied {
		dialer.Control, proxy = publicnet.Deny, nil
	}
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxConnsPerHost:     1024,
		MaxIdleConnsPerHost: 256,
		MaxIdleConns:        1024,
		// Most events are tried once, so they had better not meet a connection that the receiver is just
		// closing; servers keep idle ones for 5 s and more.
		IdleConnTimeout:        2 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
	}
}

// Attach has p's webhook told of its events and holds p until that is done. Call it before p is carried out,
// and only where that is certain: p's end releases it. A request without a webhook, or one that filters every
// event out, costs nothing.
func (s *Sender) Attach(p *predict.Prediction) {
	if p.Request.Webhook == "" || p.Request.WebhookEvents&predict.AllEvents == 0 {
		return
	}
	target, err := url.Parse(p.Request.Webhook)
	if err == nil {
		err = sendable(target)
	}
	if err != nil { // httpd checks it; its text may hold anything
		s.o.Logger.Warn("webhook cannot be told", "prediction_id", predict.Clip(p.ID()), "error", ErrURL)
		return
	}
	p.Hold()
	p.Watch(&delivery{sender: s, prediction: p, target: target, wake: make(chan struct{}, 1)})
}

// sendable tells why nothing can be sent to u.
func sendable(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return ErrURL
	}
	return nil
}

// Drain waits until everything is delivered, or given up, of the predictions that have ended. It returns what
// ended ctx before that.
func (s *Sender) Drain(ctx context.Context) error {
	if err := s.wait(ctx, func() int { return s.ended }); err != nil {
		return fmt.Errorf("deliver webhooks: %w", err)
	}
	return nil
}

// Close ends all deliveries, and those of predictions that end later before they begin.
func (s *Sender) Close() {
	s.cancel(ErrClosed)
	_ = s.wait(context.Background(), func() int { return s.running }) // whose goroutines end at once
	s.transport.CloseIdleConnections()
}

// wait returns when count is zero, or ctx at its end.
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

// count adds to the numbers of deliveries that run, and of those of ended predictions.
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

// admit counts in what is held for a prediction that has ended; false: it is too much. A lone one is never too large.
func (s *Sender) admit(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held > 0 && s.held+size > s.o.MaxHeldBytes {
		return false
	}
	s.held += size
	return true
}

// dismiss is the end of admit.
func (s *Sender) dismiss(size int64) {
	s.mu.Lock()
	s.held -= size
	s.mu.Unlock()
}

// keep counts a record in that may have to wait for another try; false: there are too many. A lone one is never
// too large.
func (s *Sender) keep(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retries >= s.o.MaxRetries || s.retries > 0 && s.bytes+size > s.o.MaxRetryBytes {
		return false
	}
	s.retries++
	s.bytes += size
	return true
}

// unkeep is the end of keep.
func (s *Sender) unkeep(size int64) {
	s.mu.Lock()
	s.retries--
	s.bytes -= size
	s.mu.Unlock()
}

// sleep returns after d, at a token of wake, or at the end of ctx.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}
