package logging

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"pinion/runtime/egress"
)

const (
	queueSize      = 64               // reports that wait
	maxBreadcrumbs = 50               // warnings that go with an error
	sendTimeout    = 10 * time.Second // of one report
	flushLimit     = time.Second      // of Stop
	repeatTime     = time.Minute      // an error that repeats is reported once in that time
	maxRepeats     = 256              // different errors that are remembered for that
	maxRedirects   = 10
	defaultWait    = time.Minute // after an answer that asks for a wait without saying how long
	maxWait        = time.Hour
)

// Reporter reports the errors of the server's log to Sentry, as Cog's server does: failed setups, workers that die, what
// the server cannot do. Warnings go with them as breadcrumbs. Failed predictions are the model's results, and are not
// reported, nor is what the model logs. A nil Reporter does nothing.
//
// It never blocks its caller: what Sentry does not take in time is dropped.
type Reporter struct {
	config   SentryConfig
	agent    string
	host     string
	scrub    scrubber
	log      *slog.Logger // not followed
	client   *egress.Client
	queue    chan []byte
	stopped  chan struct{}
	ctx      context.Context
	cancel   context.CancelFunc
	stopping sync.Once

	mu          sync.Mutex
	closed      bool
	breadcrumbs []breadcrumb
	reported    map[string]time.Time // by title
}

// StartSentry starts to send, if c asks for that. version is this program's; log gets what goes wrong with it.
func StartSentry(c *SentryConfig, version string, log *slog.Logger) *Reporter {
	if c == nil {
		return nil
	}
	host, _ := os.Hostname() // "" means the reports have none
	r := &Reporter{
		config: *c, agent: "pinion/" + version, host: host, scrub: newScrubber(c.secrets), log: log,
		client: egress.New(egress.Options{
			UserAgent: "pinion/" + version, MaxRedirects: maxRedirects, IdleTimeout: repeatTime,
		}),
		queue: make(chan []byte, queueSize), stopped: make(chan struct{}),
		reported: make(map[string]time.Time),
	}
	r.config.release = cmp.Or(c.release, "pinion@"+version)
	r.ctx, r.cancel = context.WithCancel(context.Background())
	go r.run()
	return r
}

// Report reports an error that is in no log.
func (r *Reporter) Report(what, cause string) {
	if r == nil {
		return
	}
	rec := slog.NewRecord(time.Now(), slog.LevelError, what, 0)
	rec.AddAttrs(slog.String("cause", cause))
	r.take(rec, nil)
}

// Stop sends what waits, for a second at most.
func (r *Reporter) Stop() {
	if r == nil {
		return
	}
	r.stopping.Do(func() {
		r.mu.Lock()
		r.closed = true
		close(r.queue)
		r.mu.Unlock()
		select {
		case <-r.stopped:
		case <-time.After(flushLimit):
			r.cancel()
			<-r.stopped
		}
	})
}

type breadcrumb struct {
	Timestamp float64        `json:"timestamp"`
	Level     string         `json:"level"`
	Category  string         `json:"category"`
	Message   string         `json:"message"`
	Data      map[string]any `json:"data,omitempty"`
}

// event is Sentry's, as far as it is needed here: https://develop.sentry.dev/sdk/data-model/event-payloads/.
type event struct {
	ID          string            `json:"event_id"`
	Timestamp   float64           `json:"timestamp"`
	Platform    string            `json:"platform"`
	Level       string            `json:"level"`
	Logger      string            `json:"logger"`
	Release     string            `json:"release"`
	Environment string            `json:"environment,omitempty"`
	ServerName  string            `json:"server_name,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	Extra       map[string]any    `json:"extra,omitempty"`
	Exception   exceptions        `json:"exception"`
	Breadcrumbs struct {
		Values []breadcrumb `json:"values"`
	} `json:"breadcrumbs"`
}

type exceptions struct {
	Values []exception `json:"values"`
}

type exception struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// take handles a record of the log: an error is sent, a warning is kept for the next error.
func (r *Reporter) take(rec slog.Record, attrs []slog.Attr) {
	fields := make(map[string]any)
	add := func(a slog.Attr) bool {
		fields[a.Key] = r.scrub.clean(a.Value.String())
		return true
	}
	for _, a := range attrs {
		add(a)
	}
	rec.Attrs(add)
	if _, ofModel := fields["stream"]; ofModel {
		return
	}
	at, what := float64(rec.Time.UnixMicro())/1e6, r.scrub.clean(rec.Message)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if rec.Level < slog.LevelError {
		if len(r.breadcrumbs) == maxBreadcrumbs {
			r.breadcrumbs = r.breadcrumbs[1:]
		}
		r.breadcrumbs = append(r.breadcrumbs, breadcrumb{at, "warning", "log", what, fields})
		return
	}
	e := event{
		ID: newID(), Timestamp: at, Platform: "other", Level: "error", Logger: "pinion", Release: r.config.release,
		Environment: r.config.environment, ServerName: r.host, Tags: map[string]string{}, Extra: fields,
		Exception: exceptions{[]exception{{Type: what}}},
	}
	for _, name := range []string{"cause", "error"} {
		if text, ok := fields[name].(string); ok {
			e.Exception.Values[0].Value = text
			break
		}
	}
	for _, name := range []string{"worker", "model"} {
		if text, ok := fields[name].(string); ok {
			e.Tags[name] = text
		}
	}
	if r.repeats(what+e.Exception.Values[0].Value+e.Tags["model"], rec.Time) {
		return
	}
	e.Breadcrumbs.Values = r.breadcrumbs
	r.enqueue(&e)
}

// repeats reports whether the same error was reported lately. Called with the lock held.
func (r *Reporter) repeats(title string, now time.Time) bool {
	if last, ok := r.reported[title]; ok && now.Sub(last) < repeatTime {
		return true
	}
	if len(r.reported) >= maxRepeats {
		clear(r.reported)
	}
	r.reported[title] = now
	return false
}

// enqueue queues an envelope to be sent, or drops it. Called with the lock held.
func (r *Reporter) enqueue(e *event) {
	body, err := json.Marshal(e)
	if err != nil {
		return // it has only strings and numbers
	}
	var envelope bytes.Buffer
	fmt.Fprintf(&envelope, "{\"event_id\":%q,\"sent_at\":%q}\n", e.ID, time.Now().UTC().Format(time.RFC3339Nano))
	fmt.Fprintf(&envelope, "{\"type\":\"event\",\"content_type\":\"application/json\",\"length\":%d}\n%s\n", len(body),
		body)
	select {
	case r.queue <- envelope.Bytes():
	default: // Sentry does not keep up
	}
}

// newID makes the id of an event: 32 hexadecimal digits.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// run sends envelopes, one after another.
func (r *Reporter) run() {
	defer close(r.stopped)
	var until time.Time // Sentry wants nothing before
	told := false
	for envelope := range r.queue {
		if time.Now().Before(until) {
			continue
		}
		wait, err := r.send(envelope)
		if until = time.Now().Add(wait); err != nil && !told {
			told = true
			r.log.Warn("errors are not reported to Sentry", "error", r.scrub.clean(err.Error()))
		}
	}
}

// send sends an envelope, and returns how long Sentry wants no other one.
func (r *Reporter) send(envelope []byte) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, sendTimeout)
	defer cancel()
	answer, _, err := r.client.Send(ctx, &egress.Request{
		Method: http.MethodPost, Size: int64(len(envelope)),
		Header: http.Header{
			"Content-Type":  {"application/x-sentry-envelope"},
			"X-Sentry-Auth": {"Sentry sentry_version=7, sentry_client=" + r.agent + ", sentry_key=" + r.config.key},
		},
		Body: func() io.ReadCloser { return io.NopCloser(bytes.NewReader(envelope)) },
	}, r.config.endpoint)
	if err != nil {
		return 0, egress.Reason(err)
	}
	defer egress.Discard(answer)
	refusal := egress.NewStatusError("server", answer, time.Now())
	switch {
	case answer.StatusCode == http.StatusTooManyRequests:
		return min(cmp.Or(refusal.RetryAfter, defaultWait), maxWait), nil
	case answer.StatusCode >= http.StatusMultipleChoices:
		return 0, refusal
	}
	return 0, nil
}
