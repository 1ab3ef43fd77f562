package files

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// markPrefix begins a mark, a string in an output that stands for a file: markPrefix, the token, ":", the file's
// number, "/" and its name.
const markPrefix = "pinion-file:"

// Uploads are the output files of a prediction that are uploaded. The worker copies each to Folder()/<number>/<name>
// and replaces it by a mark; Resolve replaces the mark by the file's URL.
// A nil *Uploads is for a prediction whose files are not uploaded. Uploads is safe for concurrent use.
type Uploads struct {
	outFolder
	store  *Store
	to     Destination
	slots  chan struct{} // a token for each running upload
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	latest map[string]chan struct{} // by name: closed when the latest file of that name is not being uploaded any more
}

// NewUploads makes the folder for the output files of the prediction with that id; Close removes it. It returns nil if
// to has no prefix. The error is ErrPrefix, ErrClosed or one of the file system.
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
	u := &Uploads{
		outFolder: folder, store: s, to: to, slots: make(chan struct{}, s.options.Parallel),
		latest: map[string]chan struct{}{},
	}
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	return u, nil
}

// Folder returns where the worker writes the files; "" for nil.
func (u *Uploads) Folder() string {
	if u == nil {
		return ""
	}
	return u.path
}

// Token returns 32 hexadecimal digits; "" for nil.
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

// Chunk is a part of an output, and the files that it names.
type Chunk struct {
	uploads *Uploads // nil if there are no files
	text    []byte
	files   []chunkFile
}

// chunkFile is a file of a chunk.
type chunkFile struct {
	mark
	name   string        // at the destination
	before chan struct{} // closed when no file of that name is being uploaded any more, or nil
	done   chan struct{} // closed when this one is not being uploaded any more; nil if it was closed
}

// Chunk finds the files that chunk names. Files of the same name have the same URL. So those of one chunk get distinct
// names, "out.png" and "out-1.png", and those of different chunks are uploaded one after another, in the order of the
// calls to Chunk. The caller calls Resolve, which may wait for earlier chunks. chunk is valid JSON (package rawjson).
func (u *Uploads) Chunk(chunk []byte) Chunk {
	c := Chunk{text: chunk}
	if u == nil {
		return c
	}
	marks := findMarks(chunk, u.mark)
	if len(marks) == 0 {
		return c
	}
	c.uploads, c.files = u, make([]chunkFile, len(marks))
	names := distinctNames(marks)
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, m := range marks {
		done := make(chan struct{})
		c.files[i] = chunkFile{m, names[i], u.latest[names[i]], done}
		u.latest[names[i]] = done
	}
	return c
}

// Resolve uploads the files, Options.Parallel of all chunks at a time, and returns the chunk with URLs instead of
// marks. Without marks it returns the chunk itself. A file is removed after its upload, so each chunk resolves once.
// The error is an *UploadError, ErrClosed, or the cause of ctx's end.
func (c Chunk) Resolve(ctx context.Context) ([]byte, error) {
	u := c.uploads
	if u == nil {
		return c.text, nil
	}
	defer c.release()
	if u.ctx.Err() != nil {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(u.ctx, func() { cancel(ErrClosed) })
	defer stop()
	urls := make([]string, len(c.files))
	err := u.store.each(ctx, len(c.files), func(ctx context.Context, i int) (err error) {
		urls[i], err = u.inTurn(ctx, &c.files[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(c.text)+64*len(c.files))
	from := 0
	for i, f := range c.files {
		out = append(out, c.text[from:f.start]...)
		out = rawjson.AppendQuoted(out, urls[i])
		from = f.end
	}
	return append(out, c.text[from:]...), nil
}

// Resolve calls Chunk and then its Resolve.
func (u *Uploads) Resolve(ctx context.Context, chunk []byte) ([]byte, error) {
	return u.Chunk(chunk).Resolve(ctx)
}

// inTurn uploads a file after those of its name in earlier chunks.
func (u *Uploads) inTurn(ctx context.Context, f *chunkFile) (string, error) {
	defer u.release(f)
	if f.before != nil {
		select {
		case <-f.before:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	select {
	case u.slots <- struct{}{}:
		defer func() { <-u.slots }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return u.upload(ctx, f)
}

// release allows the next file of the same name to be uploaded.
func (u *Uploads) release(f *chunkFile) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.latest[f.name] == f.done {
		delete(u.latest, f.name)
	}
	close(f.done)
	f.done = nil
}

// release allows other chunks to continue, after files whose upload did not begin.
func (c Chunk) release() {
	for i := range c.files {
		if f := &c.files[i]; f.done != nil {
			c.uploads.release(f)
		}
	}
}

// upload uploads one file.
func (u *Uploads) upload(ctx context.Context, f *chunkFile) (string, error) {
	number, ok := numbered(f.file)
	if !ok {
		return "", &UploadError{logtext.Clip(f.file), redact(u.to.Prefix), ErrNoFile}
	}
	found, err := u.store.upload(ctx, u.to, f.name, func() (*os.File, error) { return u.open(f.file) })
	if err != nil {
		return "", err
	}
	// This frees the disk early. The prediction's end removes the rest.
	_ = os.RemoveAll(filepath.Join(u.path, number))
	return found, nil
}
