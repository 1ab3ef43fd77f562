package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pinion/runtime/publicnet"
)

// newTransport makes what a store asks servers through. It is used without an http.Client, which
// would follow redirects, and put the targets that it could not read into its errors.
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
		MaxResponseHeaderBytes: 1 << 20,
		ForceAttemptHTTP2:      true,
		// No coding is asked for: most servers then send files as they lie there. Some send what was stored in a
		// coding in spite of that; decoded reads it.
		DisableCompression: true,
	}
}

// download fetches rawURL into folder and returns the file's path.
func (s *Store) download(ctx context.Context, folder, rawURL string) (path string, err error) {
	defer func() { s.transferred(Download, sizeOf(path), err) }()
	ctx, progress, stop := s.limit(ctx)
	defer stop()
	defer func() {
		// Whatever the network made of it, the reason is that we gave up.
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()

	first, err := url.Parse(rawURL)
	if err != nil {
		return "", ErrScheme
	}
	response, err := s.get(ctx, first, progress)
	if err != nil {
		return "", plain(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", newStatusError(response.StatusCode)
	}
	most := s.options.MaxFile
	if most >= 0 && response.ContentLength > most {
		return "", ErrTooLarge
	}
	path = filepath.Join(folder, downloadName(first))
	body, err := decoded(&progressReader{response.Body, progress}, response.Header.Values("Content-Encoding"))
	if err != nil {
		return "", err
	}
	return path, save(path, body, most)
}

// limit puts the limits of one transfer on ctx: Options.Timeout, and Options.Stall from one call of progress to the
// next. stop ends both.
func (s *Store) limit(ctx context.Context) (limited context.Context, progress, stop func()) {
	timed, stopTime := context.WithCancel(ctx)
	if s.options.Timeout > 0 {
		timed, stopTime = context.WithTimeoutCause(ctx, s.options.Timeout, ErrTimeout)
	}
	limited, cancel := context.WithCancelCause(timed)
	stall := s.options.Stall
	if stall <= 0 {
		return limited, func() {}, func() { cancel(nil); stopTime() }
	}
	timer := time.AfterFunc(stall, func() { cancel(ErrStalled) })
	return limited, func() { timer.Reset(stall) }, func() { timer.Stop(); cancel(nil); stopTime() }
}

// get asks for u and follows redirects. The caller closes the body.
func (s *Store) get(ctx context.Context, u *url.URL, progress func()) (*http.Response, error) {
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
		if u.User != nil {
			password, _ := u.User.Password()
			request.SetBasicAuth(u.User.Username(), password)
		}
		response, err := s.transport.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		progress()
		location := response.Header.Get("Location")
		switch response.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			location = ""
		}
		if location == "" {
			return response, nil
		}
		if err := response.Body.Close(); err != nil {
			return nil, err
		}
		// The target may be a signed URL, so no error may hold it.
		if u, err = u.Parse(location); err != nil || redirects >= max(0, s.options.MaxRedirects) {
			return nil, ErrRedirects
		}
	}
}

// plain takes from an error of net/http what says nothing to a client.
func plain(err error) error {
	var named *url.Error // holds the URL with all its parts
	if errors.As(err, &named) {
		err = named.Err
	}
	if errors.Is(err, io.EOF) {
		return ErrTruncated
	}
	return publicnet.Reason(err)
}

// newStatusError tells of a status without the server's own words.
func newStatusError(code int) *StatusError {
	text := strconv.Itoa(code)
	if words := http.StatusText(code); words != "" {
		text += " " + words
	}
	return &StatusError{text, code}
}

// progressReader tells of each read that brought something.
type progressReader struct {
	from     io.Reader
	progress func()
}

func (r *progressReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if n > 0 {
		r.progress()
	}
	return n, err
}

// save writes what from holds to a new file, at most most bytes of it unless that is negative.
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

// diskError takes the local path from an error of the file system: clients get to see these.
func diskError(err error) error {
	var onDisk *fs.PathError
	if errors.As(err, &onDisk) {
		return fmt.Errorf("store file: %w", onDisk.Err)
	}
	return err
}

// limitReader fails with ErrTooLarge once more than left bytes came.
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
