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

	"pinion/runtime/egress"
	"pinion/runtime/trace"
)

// Destination says where files are uploaded.
type Destination struct {
	Prefix string // an http or https URL; a file goes to its path, a slash and the file's name
	// Propagation has the headers that are sent.
	trace.Propagation
	Prediction string // its id, sent as X-Prediction-Id, or ""
	// Trace records each file, below its prediction; it may be nil. If Trace.Files is true, the context of the file's span
	// is sent instead of that of Propagation.
	Trace *trace.Trace
	// Trusted means that the operator named the prefix, not a client.
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
	var traced *trace.Trace // its span is sent
	var sent trace.Context
	if t := to.Trace; t != nil {
		span := t.Span("cog.prediction.upload_output", trace.Client, t.Prediction, time.Now(),
			trace.Attrs{}.Text("cog.output.mime_type", file.kind).Int("cog.output.bytes", size))
		if t.Files() {
			traced, sent = t, span.Context
		}
		defer func() { endSpan(t, span, err) }()
	}
	header := http.Header{"Content-Type": {file.kind}}
	to.SetHeaders(traced, sent, header.Set)
	passOn(header, "X-Prediction-Id", to.Prediction)
	if file.size > expectAbove {
		header.Set("Expect", "100-continue")
	}
	client := s.uploads
	if to.Trusted {
		client = s.trusted
	}
	for tries := 1; ; tries++ {
		var found string
		if found, err = s.tryUpload(ctx, client, target, header, file); err == nil {
			return found, nil
		}
		if ctx.Err() == nil && tries <= s.options.Retries && temporary(err) {
			s.options.Logger.Debug("upload will be tried again", "file", name, "to", redact(to.Prefix), "error", err)
			s.sleep(ctx, s.backoff.After(tries, err), nil)
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
	if err != nil || !egress.Sendable(u) {
		return nil, ErrPrefix // does not show the URL, which may have a secret
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
		return nil, ErrNoFile // does not show the path to clients
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

// expectAbove is the size in bytes above which a request waits for 100 Continue: a server that refuses or redirects
// need not receive the file, and its answer is not lost with the connection.
const expectAbove = 1 << 20

// tryUpload sends a file once, and follows redirects.
func (s *Store) tryUpload(ctx context.Context, client *egress.Client, target *url.URL, header http.Header,
	file *source,
) (found string, err error) {
	ctx, pace, stop := s.limit(ctx, &err)
	defer stop()
	response, at, err := client.Send(ctx, &egress.Request{
		Method: http.MethodPut, Header: header, Size: file.size,
		Body: func() io.ReadCloser { return file.open(pace) },
	}, target)
	if err != nil {
		if err = plain(err); errors.Is(err, ErrTruncated) {
			err = ErrNoAnswer
		}
		return "", err
	}
	egress.Discard(response)
	if code := response.StatusCode; (code < 200 || code > 299) && code != http.StatusSeeOther {
		return "", egress.NewStatusError("server", response, time.Now())
	}
	return foundAt(at, response.Header.Get("Location")), nil
}

// passOn forwards a client's header, unless net/http would refuse the whole request for it.
func passOn(header http.Header, name, value string) {
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		header.Set(name, value)
	}
}

// maxLocation bounds the Location of an answer, which becomes part of the output.
const maxLocation = 8 << 10

// foundAt returns the URL of a file that was PUT to target, by the Location of the answer.
func foundAt(target *url.URL, location string) string {
	at := target
	if location != "" && len(location) <= maxLocation {
		if named, err := target.Parse(location); err == nil && egress.Sendable(named) {
			at = named
		}
	}
	found := *at
	found.User, found.Fragment, found.RawFragment, found.RawQuery, found.ForceQuery = nil, "", "", "", false
	return found.String()
}

// temporary reports whether a retry may succeed after err.
func temporary(err error) bool {
	return egress.Temporary(err) && !errors.Is(err, ErrTimeout) && !errors.Is(err, ErrRedirects)
}

func endSpan(t *trace.Trace, span *trace.Span, err error) {
	now := time.Now()
	if err != nil {
		span.Fail(now, "transfer_failed", err.Error())
	}
	t.End(span, now)
}
