package files

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pinion/runtime/trace"
)

// Destination is where files are uploaded.
type Destination struct {
	Prefix string // an http or https URL; a file goes to its path, a slash and the file's name
	// Propagation is the headers that are sent.
	trace.Propagation
	Prediction string // its id, sent as X-Prediction-Id; "": it is not sent
	// Trace records each file, below its prediction; nil: nothing is recorded. Where Trace.Files says so, the context of
	// the file's span is sent instead of that of Propagation.
	Trace *trace.Trace
	// spanTrace is Trace if span, the context of the file's span, is sent; nil: it is not.
	spanTrace *trace.Trace
	span      trace.Context
	// Trusted: the operator named the prefix, not a client.
	Trusted bool
}

// upload PUTs the file that open opens and returns its public URL: the Location header of the answer if it is an http
// or https URL of at most maxLocation bytes, else the target of the last redirect; without query and credentials. The
// file is streamed with its Content-Length. Its type comes from its name, else from its content.
//
// Connection errors, a server that is silent or too slow, and the statuses 429, 500, 502, 503 and 504 are retried.
// Redirects 301, 302, 307 and 308 are followed with the same PUT; 303 is a success. The error is an *UploadError,
// ErrClosed, or the cause of ctx's end.
func (s *Store) upload(ctx context.Context, to Destination, name string,
	open func() (*os.File, error),
) (_ string, err error) {
	if !s.enter() {
		return "", ErrClosed
	}
	defer s.fetches.Done()
	var size int64
	defer func() { s.transferred(Upload, size, err) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.ctx, func() { cancel(ErrClosed) })
	defer stop()
	target, err := fileURL(to.Prefix, name)
	if err != nil {
		return "", &UploadError{name, redact(to.Prefix), err}
	}
	file, err := openRegular(open)
	if err != nil {
		return "", &UploadError{name, redact(to.Prefix), err}
	}
	defer file.close()
	size = file.size
	if t := to.Trace; t != nil {
		span := t.Span("cog.prediction.upload_output", trace.Client, t.Prediction, time.Now(),
			trace.Attrs{}.Text("cog.output.mime_type", file.kind).Int("cog.output.bytes", size))
		if t.Files() {
			to.spanTrace, to.span = t, span.Context
		}
		defer func() { endSpan(t, span, err) }()
	}
	for tries := 1; ; tries++ {
		var found string
		if found, err = s.tryUpload(ctx, to, target, file); err == nil {
			return found, nil
		}
		if ctx.Err() == nil && tries <= s.options.Retries && temporary(err) {
			s.options.Logger.Debug("upload will be tried again", "file", name, "to", redact(to.Prefix), "error", err)
			s.sleep(ctx, s.backoff(tries))
			continue
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", &UploadError{name, redact(to.Prefix), err}
	}
}

// fileURL returns the URL of a file below prefix.
func fileURL(prefix, name string) (*url.URL, error) {
	u, err := url.Parse(prefix)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, ErrPrefix // without the URL, which may have a secret
	}
	u.Fragment, u.RawFragment = "", ""
	u.RawPath = strings.TrimSuffix(u.EscapedPath(), "/") + "/" + url.PathEscape(name)
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, ErrPrefix
	}
	return u, nil
}

// source is a file that is being uploaded.
type source struct {
	file *os.File
	size int64
	kind string
}

// openRegular opens a regular file.
func openRegular(open func() (*os.File, error)) (*source, error) {
	file, err := open()
	if err != nil {
		return nil, ErrNoFile // without the path, which clients must not see
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = file.Close() // nothing was written
		return nil, ErrNoFile
	}
	return &source{file, info.Size(), typeOf(filepath.Base(file.Name()), file)}, nil
}

func (f *source) close() { _ = f.file.Close() } // nothing was written

// open returns a reader from the file's start. Each try gets a new one, because the transport may still use the last
// one.
func (f *source) open(p *pace) io.ReadCloser {
	if f.size == 0 {
		return http.NoBody // for net/http, any other body of length 0 has an unknown length
	}
	return io.NopCloser(&pacedReader{io.NewSectionReader(f.file, 0, f.size), p})
}

// tryUpload sends a file once, and follows redirects.
func (s *Store) tryUpload(ctx context.Context, to Destination, target *url.URL,
	file *source,
) (found string, err error) {
	ctx, pace, stop := s.limit(ctx, &err)
	defer stop()
	for redirects := 0; ; redirects++ {
		response, err := s.put(ctx, to, target, file, pace)
		if err != nil {
			return "", err
		}
		location := response.Header.Get("Location")
		switch code := response.StatusCode; {
		case code >= 200 && code <= 299 || code == http.StatusSeeOther:
			return foundAt(target, location), nil
		case location != "" && (code == http.StatusMovedPermanently || code == http.StatusFound ||
			code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect):
		default:
			return "", newStatusError(code)
		}
		next, err := target.Parse(location)
		if err != nil || next.Scheme != "http" && next.Scheme != "https" || next.Hostname() == "" ||
			redirects >= max(0, s.options.MaxRedirects) {
			return "", ErrRedirects // without the target, which may be a signed URL
		}
		target = next
	}
}

// expectAbove is the size in bytes above which a request waits for 100 Continue: a server that refuses or redirects
// need not receive the file, and its answer is not lost with the connection.
const expectAbove = 1 << 20

// put makes one request, and closes the answer's body.
func (s *Store) put(ctx context.Context, to Destination, target *url.URL, file *source,
	pace *pace,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, target.String(), file.open(pace))
	if err != nil {
		return nil, ErrPrefix
	}
	request.ContentLength = file.size
	request.GetBody = func() (io.ReadCloser, error) { return file.open(pace), nil } // for a retry after a dead connection
	header := request.Header
	header.Set("User-Agent", s.options.UserAgent)
	header.Set("Content-Type", file.kind)
	to.SetHeaders(to.spanTrace, to.span, header.Set)
	passOn(header, "X-Prediction-Id", to.Prediction)
	if file.size > expectAbove {
		header.Set("Expect", "100-continue")
	}
	if target.User != nil {
		password, _ := target.User.Password()
		request.SetBasicAuth(target.User.Username(), password)
	}
	transport := s.uploads
	if to.Trusted {
		transport = s.trusted
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		if err = plain(err); errors.Is(err, ErrTruncated) {
			err = ErrNoAnswer
		}
		return nil, err
	}
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10) // so that the connection can be reused; the text is ignored
	_ = response.Body.Close()
	return response, nil
}

// passOn forwards a client's header, unless net/http would refuse the whole request for it.
func passOn(header http.Header, name, value string) {
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		header.Set(name, value)
	}
}

// maxLocation bounds the Location of an answer, which becomes part of the output.
const maxLocation = 8 << 10

// foundAt returns the URL of a file that was PUT to target, where the answer had that Location.
func foundAt(target *url.URL, location string) string {
	at := target
	if location != "" && len(location) <= maxLocation {
		if named, err := target.Parse(location); err == nil && (named.Scheme == "http" || named.Scheme == "https") &&
			named.Hostname() != "" {
			at = named
		}
	}
	found := *at
	found.User, found.Fragment, found.RawFragment, found.RawQuery, found.ForceQuery = nil, "", "", "", false
	return found.String()
}

// temporary reports whether a retry may succeed after err.
func temporary(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		// All others are network errors.
		return !errors.Is(err, ErrTimeout) && !errors.Is(err, ErrRedirects) && !errors.Is(err, ErrPrefix) &&
			!errors.Is(err, ErrPrivate)
	}
	switch status.code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// backoff returns how long to wait after that many tries.
func (s *Store) backoff(tries int) time.Duration {
	wait := s.options.Backoff
	for range tries - 1 {
		wait = min(2*wait, s.options.MaxBackoff)
	}
	return min(wait, s.options.MaxBackoff)
}

// sleep returns after d, or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func endSpan(t *trace.Trace, span *trace.Span, err error) {
	now := time.Now()
	if err != nil {
		span.Fail(now, "transfer_failed", err.Error())
	}
	t.End(span, now)
}
