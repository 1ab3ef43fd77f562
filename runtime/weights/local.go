package weights

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// copyIn copies a file of this machine into the cache, as blocks that both share where the file system can.
func (f *fetcher) copyIn(ctx context.Context, e *planned) (got File, err error) {
	// It is opened without following a link, and without waiting for the writer of a pipe.
	from, err := os.OpenFile(e.local, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return got, err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return got, err
	}
	if !info.Mode().IsRegular() {
		return got, fmt.Errorf("%s is no file any more", e.local)
	}
	p, err := f.o.Cache.openPartial(ctx, keyOf("copy", e.local))
	if err != nil {
		return got, err
	}
	defer p.close()
	defer func() {
		if err != nil {
			p.remove()
		}
	}()
	if err := p.f.Truncate(0); err != nil {
		return got, &diskError{err}
	}
	sum := sha256.New()
	reader := io.Reader(&stoppable{ctx, from})
	cloned := unix.IoctlFileClone(int(p.f.Fd()), int(from.Fd())) == nil
	to := io.Writer(sum)
	if cloned {
		reader = &stoppable{ctx, p.f}
	} else {
		to = io.MultiWriter(sum, p.f)
	}
	n, err := io.CopyBuffer(&counted{to, f}, reader, make([]byte, copyBuffer))
	if err != nil {
		f.run.bytes.Add(-n)
		if errors.Is(err, unix.ENOSPC) {
			err = diskErrorOf(err)
		}
		return got, fmt.Errorf("copy %s: %w", e.local, err)
	}
	after, err := os.Stat(e.local)
	if err != nil || localKey(e.local, after) != localKey(e.local, info) {
		return got, fmt.Errorf("%s: %w", e.local, errChanged)
	}
	got = File{e.Path, n, digestPrefix + hex.EncodeToString(sum.Sum(nil))}
	if e.Digest != "" && e.Digest != got.Digest {
		f.run.bytes.Add(-n)
		return got, &wrongError{e.local, "SHA-256", e.Digest, got.Digest, false}
	}
	if err := f.o.Cache.adopt(p.name, got.Digest, f.run.hold); err != nil {
		return got, &diskError{err}
	}
	f.o.Cache.remember(localKey(e.local, info), got)
	return got, nil
}

// sized adds the size to a file that the cache has.
func (f *fetcher) sized(file File) (File, error) {
	info, err := os.Stat(f.o.Cache.path(file.Digest))
	if err == nil {
		file.Size = info.Size()
	}
	return file, err
}

// stoppable is a reader that ends with its context.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.r.Read(p)
}

// counted is a writer whose bytes count as progress.
type counted struct {
	w io.Writer
	f *fetcher
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.f.run.bytes.Add(int64(n))
	return n, err
}

// IsPlace reports whether a local source is its own target: there is nothing to fetch.
func IsPlace(folder string, s Source, target string) bool {
	f := &fetcher{o: Options{Folder: folder}}
	at := f.localPath(s)
	if at == target {
		return true
	}
	a, err := os.Stat(at)
	if err != nil {
		return false
	}
	b, err := os.Stat(filepath.Clean(target))
	return err == nil && !errors.Is(err, fs.ErrNotExist) && os.SameFile(a, b)
}
