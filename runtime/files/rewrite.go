package files

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"pinion/runtime/rawjson"
)

// markPrefix begins a mark, a string in an output that stands for a file: markPrefix, the token, ":", the file's number, "/"
// and its name.
const markPrefix = "pinion-file:"

// Uploads are the output files of a prediction that are uploaded. The worker copies each to Folder()/<number>/<name> and
// replaces it by a mark; Resolve replaces the mark by the file's URL.
//
// A nil *Uploads is for a prediction whose files are not uploaded. Safe for concurrent use.
type Uploads struct {
	outFolder
	store  *Store
	to     Destination
	slots  chan struct{} // a token for each running upload
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// NewUploads makes the folder for the output files of the prediction with that id; Close removes it. It returns nil if to
// has no prefix. The error is ErrPrefix, ErrClosed or one of the file system.
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
	u := &Uploads{outFolder: folder, store: s, to: to, slots: make(chan struct{}, s.options.Parallel)}
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	return u, nil
}

// Folder is where the worker writes the files; "" for nil.
func (u *Uploads) Folder() string {
	if u == nil {
		return ""
	}
	return u.path
}

// Token is 32 hexadecimal digits; "" for nil.
func (u *Uploads) Token() string {
	if u == nil {
		return ""
	}
	return u.token
}

// Close ends the uploads and removes the folder. It may be called any number of times.
func (u *Uploads) Close() {
	if u == nil {
		return
	}
	u.cancel(ErrClosed)
	u.remove()
}

// Resolve uploads the files that chunk names, Options.Parallel of all calls at a time, and returns chunk with URLs instead of
// marks. Without marks it returns chunk itself. Chunk is valid JSON (package rawjson). A file is removed after its upload, so
// each mark resolves once. The error is an *UploadError, ErrClosed, or the cause of ctx's end.
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
		case u.slots <- struct{}{}:
			defer func() { <-u.slots }()
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
	// Frees the disk early. The prediction's end removes the rest.
	_ = os.RemoveAll(filepath.Join(u.path, number))
	return found, nil
}

// mark is a mark in a chunk: its offsets, with its quotes, and its file.
type mark struct {
	start, end int
	file       string // "0/out.png"
}

// findMarks finds the marks that begin with prefix: whole strings that are values.
func findMarks(chunk, prefix []byte) (found []mark) {
	for from := 0; ; {
		at := bytes.Index(chunk[from:], prefix)
		if at < 0 {
			return found
		}
		start := from + at
		from = start + len(prefix)
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
		found = append(found, mark{start, end, rawjson.KeyText(chunk[from : end-1])})
		from = end
	}
}

// stringEnd returns the index after the closing quote of the string that from is in, or -1.
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

// isKey reports whether the bytes after a string make it an object's key.
func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
