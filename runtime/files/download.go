package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"pinion/runtime/egress"
	"pinion/runtime/trace"
)

// newClient returns an HTTP client for the store. Without an Accept-Encoding most servers send files as they are
// stored. Some stored files are compressed anyway; decoded reads those.
func newClient(o Options, denied bool) *egress.Client {
	return egress.New(egress.Options{
		UserAgent: o.UserAgent, MaxRedirects: o.MaxRedirects, DenyPrivate: denied, ConnectTimeout: 30 * time.Second,
		IdleTimeout: 90 * time.Second, MaxIdlePerHost: o.Parallel,
	})
}

// download fetches rawURL into folder and returns the file's path.
func (s *Store) download(ctx context.Context, folder, rawURL string) (path string, err error) {
	defer func() { s.transferred(Download, sizeOf(path), err) }()
	header := http.Header{"Accept": {"*/*"}}
	if t := trace.Of(ctx); t != nil {
		span := t.Span("pinion.download", trace.Client, t.Prediction, time.Now(), nil)
		if t.Files() {
			new(trace.Propagation).SetHeaders(t, span.Context, header.Set)
		}
		defer func() { endSpan(t, span, err) }()
	}
	ctx, pace, stop := s.limit(ctx, &err)
	defer stop()

	first, err := url.Parse(rawURL)
	if err != nil || !egress.Sendable(first) {
		return "", ErrScheme
	}
	request := &egress.Request{Method: http.MethodGet, Header: header, SeeOther: true}
	response, _, err := s.client.Send(ctx, request, first)
	if err != nil {
		return "", plain(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", egress.NewStatusError("server", response, time.Now())
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

// plain removes the URL from an error of net/http.
func plain(err error) error {
	if errors.Is(err, egress.ErrRedirect) {
		return ErrRedirects
	}
	if named, ok := errors.AsType[*url.Error](err); ok { // has the whole URL
		err = named.Err
	}
	if errors.Is(err, io.EOF) {
		return ErrTruncated
	}
	return egress.Reason(err)
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
	_, err = io.Copy(Disk{file}, from)
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
