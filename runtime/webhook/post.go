package webhook

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/trace"
)

// post tries once to deliver a record. It follows redirects, and takes Options.Timeout at most.
func (s *Sender) post(ctx context.Context, d *delivery, rec *predict.Record) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.Timeout, ErrTimeout)
	defer cancel()
	parts := s.render(rec)
	made := int64(cap(parts[0]) + cap(parts[2])) // mostly logs; the output is not copied
	if !s.o.Memory.Take(made, made) {
		return memory.ErrFull
	}
	defer s.o.Memory.Free(made)
	span := d.beginSpan()
	err := s.follow(ctx, d, span, parts)
	d.endSpan(span, err)
	return err
}

// follow sends a body to the target, and to where that redirects.
func (s *Sender) follow(ctx context.Context, d *delivery, span *trace.Span, parts [3][]byte) error {
	for target, redirects := d.target, 0; ; redirects++ {
		next, err := s.exchange(ctx, d, target, span, parts)
		if next == nil || err != nil {
			return err
		}
		if redirects >= s.o.MaxRedirects {
			return ErrRedirect
		}
		target = next
	}
}

// render returns the body. It does not copy the output, which may be large.
func (s *Sender) render(rec *predict.Record) [3][]byte {
	head := s.encoder.AppendHead(make([]byte, 0, 256), rec)
	tail := s.encoder.AppendTail(make([]byte, 0, 512+len(rec.Logs)+len(rec.Metrics)), rec)
	return [3][]byte{head, rec.Output, tail}
}

// exchange makes one request. It returns the target of a redirect, or nil.
func (s *Sender) exchange(ctx context.Context, d *delivery, target *url.URL, span *trace.Span,
	parts [3][]byte,
) (next *url.URL, err error) {
	sent := &payload{parts: parts}
	defer sent.detach()
	// Not by http.NewRequest, which would copy the URL: it may be long, and there may be many tries at once.
	request := (&http.Request{
		Method: http.MethodPost, URL: target, Host: target.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: sent.open(),
	}).WithContext(ctx)
	request.ContentLength = int64(len(parts[0]) + len(parts[1]) + len(parts[2]))
	request.GetBody = func() (io.ReadCloser, error) { return sent.open(), nil } // for a retry after a dead connection
	s.address(request, d, target, span)
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		return nil, plain(ctx, err)
	}
	defer discard(response)
	switch code := response.StatusCode; {
	case code >= 200 && code <= 299 || code == http.StatusSeeOther:
		return nil, nil
	case code == http.StatusMovedPermanently || code == http.StatusFound ||
		code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect:
		location := response.Header.Get("Location")
		if next, err = target.Parse(location); err != nil || location == "" || !sendable(next) {
			return nil, ErrRedirect // without the target, which may be a secret
		}
		return next, nil
	default:
		return nil, &StatusError{Code: code, RetryAfter: retryAfter(response.Header.Get("Retry-After"), s.now())}
	}
}

// address sets the headers of a request to target.
func (s *Sender) address(request *http.Request, d *delivery, target *url.URL, span *trace.Span) {
	header := request.Header
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", s.o.UserAgent)
	from := &d.prediction.Request
	if span != nil {
		from.SetHeaders(from.Trace, span.Context, header.Set)
	} else {
		from.SetHeaders(nil, trace.Context{}, header.Set)
	}
	if attempt := from.Attempt; attempt > 0 {
		header.Set("Pinion-Attempt", strconv.Itoa(attempt))
	}
	if d.stored {
		header.Set("Webhook-Id", d.prediction.ID())
	}
	// A redirect must not send the token to another host.
	trusted := target.Hostname() == d.target.Hostname() && (target.Scheme == d.target.Scheme || target.Scheme == "https")
	switch {
	case s.o.AuthToken != "" && trusted:
		header.Set("Authorization", "Bearer "+s.o.AuthToken)
	case target.User != nil:
		password, _ := target.User.Password()
		request.SetBasicAuth(target.User.Username(), password)
	}
}

// retryAfter reads a Retry-After header: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// maxAnswer and maxAnswerTime bound how much of an answer's body is read, so that its connection can be reused. Its
// text is ignored.
const (
	maxAnswer     = 4 << 10
	maxAnswerTime = time.Second
)

// discard reads the rest of an answer and closes it.
func discard(response *http.Response) {
	timer := time.AfterFunc(maxAnswerTime, func() { _ = response.Body.Close() })
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	timer.Stop()
	_ = response.Body.Close()
}
