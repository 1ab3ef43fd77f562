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
	"time"
)

// newTransport makes what a store asks servers through. It is used without an http.Client, which
// would follow redirects, and put the targets that it could not read into its errors.
func newTransport(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	proxy := http.ProxyFromEnvironment
	if o.DenyPrivate {
		dialer.Control = denyPrivate
		proxy = nil
	}
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    30 * time.Second,
		MaxIdleConnsPerHost:    o.Parallel,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		ForceAttemptHTTP2:      true,
		// Files come as they lie on the server, and nothing small becomes huge.
		DisableCompression: true,
	}
}

// download fetches rawURL into folder and returns the file's path.
func (s *Store) download(ctx context.Context, folder, rawURL string) (path string, err error) {
	if s.options.Timeout > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, s.options.Timeout, ErrTimeout)
		defer cancel()
		ctx = timed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	progress := func() {}
	if stall := s.options.Stall; stall > 0 {
		timer := time.AfterFunc(stall, func() { cancel(ErrStalled) })
		defer timer.Stop()
		progress = func() { timer.Reset(stall) }
	}
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
		return "", &StatusError{statusText(response.StatusCode)}
	}
	most := s.options.MaxFile
	if most >= 0 && response.ContentLength > most {
		return "", ErrTooLarge
	}
	path = filepath.Join(folder, downloadName(first, response))
	return path, save(path, &progressReader{response.Body, progress}, most)
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
	var denied *deniedError
	if errors.As(err, &denied) {
		return denied
	}
	if errors.Is(err, io.EOF) {
		return ErrTruncated
	}
	return err
}

// statusText is a status without the server's own words.
func statusText(code int) string {
	const digits = "0123456789"
	text := string([]byte{digits[code/100%10], digits[code/10%10], digits[code%10]})
	if words := http.StatusText(code); words != "" {
		text += " " + words
	}
	return text
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
