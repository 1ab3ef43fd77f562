package files

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"pinion/runtime/predict"
)

// Inbox is the files that came in a request's own body. They go to disk while the body is read, to a folder
// like those of predictions. It implements predict.Inbox.
type Inbox struct {
	store  *Store
	folder string // "": there was no file yet
	remove func()
	paths  []string
}

// NewInbox makes an inbox. Nothing is on disk before the first file, and nothing after Close.
func (s *Store) NewInbox() *Inbox { return &Inbox{store: s} }

// Add implements predict.Inbox. The error is that of from, a *predict.FileLimitError, ErrClosed or one of the disk.
func (in *Inbox) Add(name, mediaType string, from io.Reader) (int, error) {
	s, number := in.store, len(in.paths)
	if most := s.options.MaxFiles; most >= 0 && number >= most {
		return 0, &predict.FileLimitError{Reason: fmt.Sprintf("The request has more than %d files, which is the most this server takes", most)}
	}
	if !s.enter() {
		return 0, ErrClosed
	}
	defer s.fetches.Done()
	if in.folder == "" {
		folder, remove, err := s.makeFolder("upload")
		if err != nil {
			return 0, diskError(err)
		}
		in.folder, in.remove = folder, remove
	}
	folder := filepath.Join(in.folder, strconv.Itoa(number))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return 0, diskError(err)
	}
	own := safeName(baseName(name))
	if own == "" {
		own = withExtension("", mediaType)
	}
	path := filepath.Join(folder, own)
	source := &sourceReader{from: from, left: s.options.MaxFile}
	if err := save(path, source, -1); err != nil {
		switch {
		case source.large:
			return 0, &predict.FileLimitError{Reason: fmt.Sprintf(
				"The file %s is larger than %d bytes, which is the most this server takes", strconv.Quote(cut(name)), s.options.MaxFile)}
		case source.err != nil:
			return 0, source.err // and not as save tells it, in words for downloads
		}
		return 0, err
	}
	in.paths = append(in.paths, path)
	return number, nil
}

// Path implements predict.Attachments.
func (in *Inbox) Path(number int) string {
	if number < 0 || number >= len(in.paths) {
		return ""
	}
	return in.paths[number]
}

// Close implements predict.Attachments.
func (in *Inbox) Close() {
	if in.remove != nil {
		in.remove()
	}
}

// sourceReader reads what a client sends and keeps why that ended.
type sourceReader struct {
	from  io.Reader
	left  int64 // negative from the start: no limit
	large bool
	err   error
}

func (r *sourceReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err != nil && err != io.EOF {
		r.err = err
	}
	if r.left >= 0 {
		if int64(n) > r.left {
			r.large = true
			return 0, ErrTooLarge
		}
		r.left -= int64(n)
	}
	return n, err
}
