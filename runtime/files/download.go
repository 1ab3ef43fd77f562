package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pinion/runtime/publicnet"
	"pinion/runtime/trace"
)

// newTransport returns a store's HTTP transport. It is used without an http.Client, which would follow redirects and
// show their targets in its errors.
func newTransport(o Options, denied bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	proxy := http.ProxyFromEnvironment
	if denied {
		dialer.Control = publicnet.Deny
		proxy = nil
	}
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    30 * time.Second,
		MaxIdleConnsPerHost:    o.Parallel,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
		// Without an Accept-Encoding most servers send files as they are stored. Some stored files are compressed anyway;
		// decoded reads those.
		DisableCompression: true,
	}
}

// headerKey is the key of more headers in a download's context.
type headerKey struct{}

// download fetches rawURL into folder and returns the file's path.
func (s *Store) download(ctx context.Context, folder, rawURL string) (path string, err error) {
	defer func() { s.transferred(Download, sizeOf(path), err) }()
	if t := trace.Of(ctx); t != nil {
		span := t.Span("pinion.download", trace.Client, t.Prediction, time.Now(), nil)
		header := http.Header{}
		if t.Files() {
			t.Headers(span.Context, func(name, value string) { passOn(header, name, value) })
		}
		ctx = context.WithValue(ctx, headerKey{}, header)
		defer func() { endSpan(t, span, err) }()
	}
	ctx, pace, stop := s.limit(ctx, &err)
	defer stop()

	first, err := url.Parse(rawURL)
	if err != nil {
		return "", ErrScheme
	}
	response, err := s.get(ctx, first)
	if err != nil {
		return "", plain(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", newStatusError(response.StatusCode)
	}
	pace.begin()
	most := s.options.MaxFile
	if most >= 0 && response.ContentLength > most {
		return "", ErrTooLarge
	}
	path = filepath.Join(folder, downloadName(first))
	body, err := decoded(&pacedReader{response.Body, pace}, response.Header.Values("Content-Encoding"))
	if err != nil {
		return "", err
	}
	return path, save(path, body, most)
}

// get requests u and follows redirects. The caller closes the body.
func (s *Store) get(ctx context.Context, u *url.URL) (*http.Response, error) {
	for redirects := 0; ; redirects++ {
		if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			if redirects > 0 {
				return nil, ErrRedirects
			}
			return nil, ErrScheme
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
		if err != nil {
			return nil, err
		}
		request.Header.Set("User-Agent", s.options.UserAgent)
		request.Header.Set("Accept", "*/*")
		if header, ok := ctx.Value(headerKey{}).(http.Header); ok {
			maps.Copy(request.Header, header)
		}
		if u.User != nil {
			password, _ := u.User.Password()
			request.SetBasicAuth(u.User.Username(), password)
		}
		response, err := s.transport.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		location := response.Header.Get("Location")
		switch response.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
			http.StatusPermanentRedirect:
		default:
			location = ""
		}
		if location == "" {
			return response, nil
		}
		if err := response.Body.Close(); err != nil {
			return nil, err
		}
		// The target may be a signed URL, so errors must not show it.
		if u, err = u.Parse(location); err != nil || redirects >= max(0, s.options.MaxRedirects) {
			return nil, ErrRedirects
		}
	}
}

// plain removes the URL from an error of net/http.
func plain(err error) error {
	if named, ok := errors.AsType[*url.Error](err); ok { // has the whole URL
		err = named.Err
	}
	if errors.Is(err, io.EOF) {
		return ErrTruncated
	}
	return publicnet.Reason(err)
}

// newStatusError returns a status with its standard text, not the server's.
func newStatusError(code int) *StatusError {
	text := strconv.Itoa(code)
	if words := http.StatusText(code); words != "" {
		text += " " + words
	}
	return &StatusError{text, code}
}

// save writes from to a new file, at most most bytes unless most is negative.
func save(path string, from io.Reader, most int64) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return diskError(err)
	}
	if most >= 0 {
		from = &limitReader{from, most}
	}
	_, err = io.Copy(file, from)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrTruncated
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return diskError(err)
}

// diskError removes the local path from an error of the file system, because clients see it.
func diskError(err error) error {
	if onDisk, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("store file: %w", onDisk.Err)
	}
	return err
}

// limitReader fails with ErrTooLarge after more than left bytes.
type limitReader struct {
	from io.Reader
	left int64
}

func (r *limitReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if r.left -= int64(n); r.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}
