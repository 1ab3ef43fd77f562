package weights

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// download is the fetch of one file into the cache.
type download struct {
	cache  *Cache
	client *client
	hold   *Hold
	o      *object
	key    string        // stands for this version of the file, or ""
	want   File          // its Digest is "" if any is right, its Size negative
	count  *atomic.Int64 // of the bytes that are there; goes down where some are dropped
	mine   int64         // what this download has added to count
}

// Bounds of the parts that are fetched with one request, in bytes.
const (
	minChunk = 1 << 20
	maxChunk = 16 << 20
)

// chunkOf returns how long the parts of a file are. A file has several for each connection, so that all end together.
func chunkOf(size int64) int64 {
	const step = 64 << 10
	chunk := min(max(size/(4*parallel), minChunk), maxChunk)
	return (chunk + step - 1) / step * step
}

// run fetches the file, and returns its digest and size.
func (d *download) run(ctx context.Context) (File, error) {
	if !d.o.probed && d.o.size > minChunk { // a small file is fetched by one request
		if err := d.client.probe(ctx, d.o); err != nil {
			return File{}, err
		}
	}
	for again := 0; ; again++ {
		got, err := d.once(ctx)
		wrong, isWrong := errors.AsType[*wrongError](err)
		switch {
		case err == nil:
			return got, nil
		case again > 0 || !isWrong && !errors.Is(err, errChanged):
			return got, err
		case isWrong && !wrong.resumed:
			return got, err // it came in one go, so it would come again
		}
		if err := d.client.probe(ctx, d.o); err != nil {
			return got, err
		}
		if d.o.mutable {
			d.key, d.want.Size = d.o.versionKey(), d.o.size
		}
	}
}

// wrongError means that a source sent another file than the one that was expected.
type wrongError struct {
	name, what, want, got string
	resumed               bool // parts were of an earlier download
}

func (e *wrongError) Error() string {
	return fmt.Sprintf("%s has the wrong %s: expected %s, got %s", e.name, e.what, e.want, e.got)
}

// once fetches the file, with what an earlier download has left.
func (d *download) once(ctx context.Context) (got File, err error) {
	if d.want.Size >= 0 && d.o.size >= 0 && d.o.size != d.want.Size {
		return got, &wrongError{d.o.name, "size", bytesText(d.want.Size), bytesText(d.o.size), false}
	}
	key := d.key
	if d.want.Digest != "" {
		key = keyOf(d.want.Digest)
	} else if key == "" {
		key = keyOf(d.o.url.String())
	}
	p, err := d.cache.openPartial(ctx, key)
	if err != nil {
		return got, err
	}
	defer p.close()
	now := entry{File: d.want, Key: d.key}
	d.cache.complete(&now)
	if d.cache.hasHeld(d.hold, []File{now.File}) { // another process was faster
		p.remove()
		d.add(max(d.o.size, 0) - d.mine)
		return now.File, nil
	}
	defer func() {
		if err != nil {
			d.add(-d.mine)
		}
	}()
	sum := sha256.New()
	resumed := false
	if d.o.ranged && (d.o.validator != "" || d.want.Digest != "") {
		resumed, err = d.parts(ctx, p, sum)
	} else {
		err = d.whole(ctx, p, sum)
	}
	if err != nil {
		if errors.Is(err, errChanged) {
			p.remove()
		}
		return got, err
	}
	info, err := p.f.Stat()
	if err != nil {
		return got, &diskError{err}
	}
	got = File{Path: d.want.Path, Size: info.Size(), Digest: digestPrefix + hex.EncodeToString(sum.Sum(nil))}
	switch {
	case d.want.Size >= 0 && got.Size != d.want.Size:
		err = &wrongError{d.o.name, "size", bytesText(d.want.Size), bytesText(got.Size), resumed}
	case d.want.Digest != "" && got.Digest != d.want.Digest:
		err = &wrongError{d.o.name, "SHA-256", d.want.Digest, got.Digest, resumed}
	}
	if err != nil {
		p.remove()
		return got, err
	}
	// The next process that wants the file looks as soon as it is adopted: no state may be left, and its digest be known.
	_ = os.Remove(p.name + stateSuffix)
	d.cache.remember(d.key, got)
	if err := d.cache.adopt(p.name, got.Digest, d.hold); err != nil {
		return got, &diskError{err}
	}
	return got, nil
}

func (d *download) add(n int64) {
	d.mine += n
	d.count.Add(n)
}

// parts fetches the parts of a file that are not there yet, many at once, and hashes them in order.
func (d *download) parts(ctx context.Context, p *partial, sum hash.Hash) (resumed bool, err error) {
	size := d.o.size
	chunk := chunkOf(size)
	if err := p.begin(size, chunk, d.want.Digest != ""); err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var fetching sync.WaitGroup
	missing := []int{}
	for i, done := range p.done {
		if done {
			resumed = true
			d.add(min(chunk, size-int64(i)*chunk))
			continue
		}
		missing = append(missing, i)
	}
	var came atomic.Int64
	fetching.Go(func() {
		for _, i := range missing {
			select {
			case d.client.connections <- struct{}{}:
			case <-ctx.Done():
				p.fail(context.Cause(ctx))
				return
			}
			fetching.Go(func() {
				defer func() { <-d.client.connections }()
				from := int64(i) * chunk
				if err := d.part(ctx, p.f, from, min(from+chunk, size), &came); err != nil {
					p.fail(err)
					cancel()
					return
				}
				p.finish(i, size, chunk)
			})
		}
	})
	err = hashParts(p, sum, size, chunk)
	cancel()
	fetching.Wait()
	d.mine += came.Load()
	if err != nil {
		p.mu.Lock()
		p.save(size, chunk)
		p.mu.Unlock()
	}
	return resumed, err
}

// hashParts hashes the file in order, as its parts come.
func hashParts(p *partial, sum io.Writer, size, chunk int64) error {
	buffer := make([]byte, min(copyBuffer, max(size, 1)))
	for i := range p.done {
		if err := p.await(i); err != nil {
			return err
		}
		from := int64(i) * chunk
		if _, err := io.CopyBuffer(sum, io.NewSectionReader(p.f, from, min(chunk, size-from)), buffer); err != nil {
			return &diskError{err}
		}
	}
	return nil
}

// part fetches the bytes of a file from a place to before another one.
func (d *download) part(ctx context.Context, f *os.File, from, to int64, came *atomic.Int64) error {
	return retried(ctx, func() (bool, error) {
		response, err := d.client.open(ctx, d.o, from, to)
		if err != nil {
			if _, is := errors.AsType[*rangeError](err); is {
				err = errChanged
			}
			return false, err
		}
		defer response.Body.Close()
		if err := d.o.checkPart(response, from); err != nil {
			return false, err
		}
		n, err := d.copy(ctx, f, from, to-from, response, came)
		from += n
		if err == nil && from < to {
			err = fmt.Errorf("get %s: %w", d.o.name, io.ErrUnexpectedEOF)
		}
		return n >= leastProgress, err
	})
}

const (
	// stall is how long a connection may bring less than leastProgress bytes.
	stall         = 30 * time.Second
	leastProgress = 64 << 10
)

var errStalled = errors.New("the server sends no more")

// copy writes the body of an answer to a place of a file, at most a number of bytes.
func (d *download) copy(ctx context.Context, f io.WriterAt, at, most int64, response *http.Response, came *atomic.Int64) (n int64, err error) {
	var stalled atomic.Bool
	watch := time.AfterFunc(stall, func() {
		stalled.Store(true)
		_ = response.Body.Close()
	})
	defer watch.Stop()
	leave := context.AfterFunc(ctx, func() { _ = response.Body.Close() })
	defer leave()
	buffer := make([]byte, 256<<10)
	recent := int64(0)
	for n < most {
		read, err := response.Body.Read(buffer[:min(int64(len(buffer)), most-n)])
		if read > 0 {
			if _, err := f.WriteAt(buffer[:read], at+n); err != nil {
				return n, diskErrorOf(err)
			}
			n += int64(read)
			came.Add(int64(read))
			d.count.Add(int64(read))
			if recent += int64(read); recent >= leastProgress {
				recent = 0
				watch.Reset(stall)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case stalled.Load():
			return n, fmt.Errorf("get %s: %w", d.o.name, errStalled)
		case err != nil:
			return n, fmt.Errorf("get %s: %w", d.o.name, withoutURL(err))
		}
	}
	return n, nil
}

// whole fetches a file by one request, from a server that sends no parts.
func (d *download) whole(ctx context.Context, p *partial, sum hash.Hash) error {
	select {
	case d.client.connections <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-d.client.connections }()
	_ = os.Remove(p.name + stateSuffix)
	most := d.o.size
	if most < 0 {
		most = 1 << 62
	}
	return retried(ctx, func() (bool, error) {
		var came atomic.Int64
		sum.Reset()
		if err := p.f.Truncate(0); err != nil {
			return false, &diskError{err}
		}
		response, err := d.client.open(ctx, d.o, 0, -1)
		if _, empty := errors.AsType[*rangeError](err); empty {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		if has := response.ContentLength; has >= 0 && d.o.size >= 0 && has != d.o.size {
			return false, &wrongError{d.o.name, "size", bytesText(d.o.size), bytesText(has), false}
		}
		n, err := d.copy(ctx, hashed{p.f, sum}, 0, most, response, &came)
		if err == nil && d.o.size >= 0 && n < d.o.size {
			err = fmt.Errorf("get %s: %w", d.o.name, io.ErrUnexpectedEOF)
		}
		if err != nil {
			d.count.Add(-n)
			return false, err
		}
		d.mine += n
		return true, nil
	})
}

// hashed is a file that is written in order, with a hash of what was written.
type hashed struct {
	f   *os.File
	sum hash.Hash
}

func (h hashed) WriteAt(p []byte, at int64) (int, error) {
	_, _ = h.sum.Write(p) // never fails
	return h.f.WriteAt(p, at)
}

// bytesText returns a number of bytes in words.
func bytesText(n int64) string { return fmt.Sprintf("%d bytes", n) }
