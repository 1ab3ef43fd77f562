package files

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"pinion/runtime/rawjson"
)

// markPrefix begins a string of an output that stands for a file: markPrefix, the token, ":", the file's number, "/"
// and its name.
const markPrefix = "pinion-file:"

// Uploads is the output files of one prediction. Its worker copies each to Folder()/<number>/<name> and puts
// "pinion-file:<Token()>:<number>/<name>" in its place; Resolve puts the file's URL there.
//
// A nil *Uploads is that of a prediction whose files are not uploaded: it costs nothing. Safe for concurrent use.
type Uploads struct {
	outFolder
	store  *Store
	to     Destination
	places chan struct{} // as many as files may be under way
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// NewUploads makes the folder for the output files of the prediction of that id; Close removes it. It returns nil
// where to has no prefix. The error is ErrPrefix, ErrClosed or one of the file system.
func (s *Store) NewUploads(id string, to Destination) (*Uploads, error) {
	if to.Prefix == "" {
		return nil, nil
	}
	if _, err := fileURL(to.Prefix, "x"); err != nil {
		return nil, err
	}
	folder, err := s.newOutFolder(id)
	if err != nil {
		return nil, err
	}
	u := &Uploads{outFolder: folder, store: s, to: to, places: make(chan struct{}, s.options.Parallel)}
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	return u, nil
}

// Folder is where the worker puts the files; "" of nil.
func (u *Uploads) Folder() string {
	if u == nil {
		return ""
	}
	return u.path
}

// Token is 32 hexadecimal digits; "" of nil.
func (u *Uploads) Token() string {
	if u == nil {
		return ""
	}
	return u.token
}

// Close ends what is being uploaded and removes the folder. It may be called any number of times.
func (u *Uploads) Close() {
	if u == nil {
		return
	}
	u.cancel(ErrClosed)
	u.remove()
}

// Resolve uploads the files that chunk names, Options.Parallel of all calls at once, and returns chunk with their URLs
// in place of the marks; chunk itself, where it has none. Chunk is valid JSON (package rawjson). A file is removed once it
// is uploaded, so each mark resolves once. The error is an *UploadError, ErrClosed, or what ended ctx.
func (u *Uploads) Resolve(ctx context.Context, chunk []byte) ([]byte, error) {
	if u == nil {
		return chunk, nil
	}
	marks := findMarks(chunk, u.mark)
	if len(marks) == 0 {
		return chunk, nil
	}
	if u.ctx.Err() != nil {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(u.ctx, func() { cancel(ErrClosed) })
	defer stop()
	urls := make([]string, len(marks))
	err := u.store.each(ctx, len(marks), func(ctx context.Context, i int) (err error) {
		select {
		case u.places <- struct{}{}:
			defer func() { <-u.places }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		urls[i], err = u.upload(ctx, marks[i].file)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(chunk)+64*len(marks))
	from := 0
	for i, m := range marks {
		out = append(out, chunk[from:m.start]...)
		out = rawjson.AppendQuoted(out, urls[i])
		from = m.end
	}
	return append(out, chunk[from:]...), nil
}

// upload uploads one file by its number and name, "0/out.png".
func (u *Uploads) upload(ctx context.Context, file string) (string, error) {
	number, name, ok := numbered(file)
	if !ok {
		return "", &UploadError{cut(file), redact(u.to.Prefix), ErrNoFile}
	}
	found, err := u.store.upload(ctx, u.to, name, func() (*os.File, error) { return u.open(file) })
	if err != nil {
		return "", err
	}
	// The disk is wanted back before the prediction's end; then all of it goes anyway.
	_ = os.RemoveAll(filepath.Join(u.path, number))
	return found, nil
}

// place is where a mark stands in a chunk, with its quotes.
type place struct {
	start, end int
	file       string // "0/out.png"
}

// findMarks finds the marks that begin so: whole strings that are values.
func findMarks(chunk, mark []byte) (found []place) {
	for from := 0; ; {
		at := bytes.Index(chunk[from:], mark)
		if at < 0 {
			return found
		}
		start := from + at
		from = start + len(mark)
		backslashes := 0
		for i := start; i > 0 && chunk[i-1] == '\\'; i-- {
			backslashes++
		}
		if backslashes%2 == 1 {
			continue // an escaped quote, inside another string
		}
		end := stringEnd(chunk, from)
		if end < 0 || isKey(chunk[end:]) {
			continue
		}
		found = append(found, place{start, end, rawjson.KeyText(chunk[from : end-1])})
		from = end
	}
}

// stringEnd is the index after the closing quote of the string that from stands in, or -1.
func stringEnd(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// isKey tells whether what follows a string makes it an object's key.
func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
