package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"pinion/runtime/logtext"
	"pinion/runtime/predict"
)

// Attachments are the files that a request's body carries. They go to disk while the body is read, to a folder
// like those of predictions. It implements request.Attachments.
type Attachments struct {
	store  *Store
	folder string // "" if there was no file yet
	remove func()
	paths  []string
}

// NewAttachments returns an empty store. Nothing is on disk before the first file, and nothing after Close.
func (s *Store) NewAttachments() *Attachments { return &Attachments{store: s} }

// Add implements request.Attachments. The error is that of from, a *predict.FileLimitError, ErrClosed or one of the
// disk.
func (a *Attachments) Add(name, mediaType string, from io.Reader) (int, error) {
	s, number := a.store, len(a.paths)
	if most := s.options.MaxFiles; most >= 0 && number >= most {
		return 0, &predict.FileLimitError{
			Reason: fmt.Sprintf("The request has more than %d files, the limit of --max-downloads", most),
		}
	}
	if !s.enter() {
		return 0, ErrClosed
	}
	defer s.fetches.Done()
	if a.folder == "" {
		folder, remove, err := s.makeFolder("upload")
		if err != nil {
			return 0, diskError(err)
		}
		a.folder, a.remove = folder, remove
	}
	folder := filepath.Join(a.folder, strconv.Itoa(number))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return 0, diskError(err)
	}
	own := safeName(baseName(name))
	if own == "" {
		own = withExtension("", mediaType)
	}
	path := filepath.Join(folder, own)
	source := &sourceReader{from: from}
	switch err := save(path, source, s.options.MaxFile); {
	case errors.Is(err, ErrTooLarge):
		return 0, &predict.FileLimitError{Reason: fmt.Sprintf(
			"The file %s is larger than %d bytes, the limit of --max-download", strconv.Quote(logtext.Clip(name)),
			s.options.MaxFile)}
	case source.err != nil:
		return 0, source.err // save's error has the words for downloads
	case err != nil:
		return 0, err
	}
	a.paths = append(a.paths, path)
	return number, nil
}

// Path implements predict.Attachments.
func (a *Attachments) Path(number int) string {
	if number < 0 || number >= len(a.paths) {
		return ""
	}
	return a.paths[number]
}

// Close implements predict.Attachments.
func (a *Attachments) Close() {
	if a.remove != nil {
		a.remove()
	}
}

// sourceReader reads what a client sends and keeps its error.
type sourceReader struct {
	from io.Reader
	err  error
}

func (r *sourceReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
