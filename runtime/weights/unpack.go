package weights

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Archives returns how the names of archives that can be unpacked end.
func Archives() []string { return []string{".tar", ".tar.gz", ".tar.zst", ".zip"} }

// IsArchive reports whether a file can be unpacked, by its name.
func IsArchive(name string) bool {
	return slices.ContainsFunc(Archives(), func(end string) bool { return strings.HasSuffix(name, end) })
}

// maxEntries is how many entries an archive may have.
const maxEntries = 100_000

// unpacker puts the files of an archive into the cache.
type unpacker struct {
	ctx     context.Context
	cache   *Cache
	hold    *Hold
	archive File
	room    int64 // bytes that the disk has room for
	entries int
	paths   map[string]bool
	files   []File
}

func unpackedKey(digest string) string { return keyOf("unpacked", digest) }

// unpacked returns the files of an archive that was unpacked, and holds them, if the cache has all of them.
func (c *Cache) unpacked(h *Hold, archive File) (files []File) {
	data, err := os.ReadFile(c.indexPath(unpackedKey(archive.Digest)))
	if err != nil || json.Unmarshal(data, &files) != nil || slices.ContainsFunc(files, func(f File) bool {
		return checkPath(f.Path) != nil || !isDigest(f.Digest)
	}) || !c.hasHeld(h, files) {
		return nil
	}
	return files
}

// unpack unpacks archives, and returns their files. Of two with one path, that of the later archive counts.
func (f *fetcher) unpack(ctx context.Context, archives []File) ([]File, error) {
	byPath := map[string]File{}
	for _, archive := range archives {
		if !IsArchive(archive.Path) {
			return nil, fmt.Errorf("unpack: %s is no archive, whose name ends with %s", archive.Path,
				strings.Join(Archives(), ", "))
		}
		files, err := f.unpackOne(ctx, archive)
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", archive.Path, err)
		}
		for _, file := range files {
			byPath[file.Path] = file
		}
	}
	files := make([]File, 0, len(byPath))
	for _, file := range byPath {
		files = append(files, file)
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

func (f *fetcher) unpackOne(ctx context.Context, archive File) ([]File, error) {
	turn, err := f.o.Cache.openPartial(ctx, unpackedKey(archive.Digest)) // another process unpacks it once
	if err != nil {
		return nil, err
	}
	defer turn.close()
	defer turn.remove()
	if files := f.o.Cache.unpacked(f.run.hold, archive); files != nil {
		return files, nil
	}
	u := &unpacker{ctx: ctx, cache: f.o.Cache, hold: f.run.hold, archive: archive, paths: map[string]bool{}}
	if u.room, err = room(u.cache.root); err != nil {
		return nil, err
	}
	in, err := os.Open(u.cache.path(archive.Digest))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if err := u.read(in); err != nil {
		return nil, err
	}
	if len(u.files) == 0 {
		return nil, errors.New("it has no files")
	}
	_ = writeJSON(u.cache.indexPath(unpackedKey(archive.Digest)), u.files)
	return u.files, nil
}

// read reads an archive, as its name says.
func (u *unpacker) read(in *os.File) error {
	buffered := bufio.NewReaderSize(&stoppable{u.ctx, in}, copyBuffer)
	switch name := u.archive.Path; {
	case strings.HasSuffix(name, ".zip"):
		return u.zip(in)
	case strings.HasSuffix(name, ".gz"):
		r, err := gzip.NewReader(buffered)
		if err != nil {
			return err
		}
		return u.tar(r)
	case strings.HasSuffix(name, ".zst"):
		r, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return err
		}
		defer r.Close()
		return u.tar(r)
	}
	return u.tar(buffered)
}

func (u *unpacker) tar(in io.Reader) error {
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			_, err = io.Copy(io.Discard, in) // the checksum of gzip stands at the end
			return err
		case err != nil:
			return err
		case h.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		mode := h.FileInfo().Mode()
		if h.Typeflag == tar.TypeLink {
			mode |= os.ModeIrregular
		}
		if err := u.entry(h.Name, h.Size, mode, func() (io.ReadCloser, error) {
			return io.NopCloser(r), nil
		}); err != nil {
			return err
		}
	}
}

func (u *unpacker) zip(in *os.File) error {
	r, err := zip.NewReader(in, u.archive.Size)
	if err != nil {
		return err
	}
	for _, f := range r.File {
		if f.UncompressedSize64 > 1<<62 {
			return fmt.Errorf("the entry %.200q says that it has %d bytes", f.Name, f.UncompressedSize64)
		}
		if err := u.entry(f.Name, int64(f.UncompressedSize64), f.Mode(), f.Open); err != nil {
			return err
		}
	}
	return nil
}

// entry puts a file of an archive into the cache. What is no file and no folder below the target is refused.
func (u *unpacker) entry(name string, size int64, mode os.FileMode, open func() (io.ReadCloser, error)) error {
	if u.entries++; u.entries > maxEntries {
		return fmt.Errorf("it has more than %d entries", maxEntries)
	}
	path := strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	if mode.IsDir() && (path == "" || path == ".") {
		return nil
	}
	if err := checkPath(path); err != nil {
		return err
	}
	if mode.IsDir() {
		return nil
	}
	switch {
	case !mode.IsRegular():
		return fmt.Errorf("the entry %.200q is no file and no folder, but a link or a device", name)
	case u.paths[path]:
		return fmt.Errorf("the entry %.200q is there twice", name)
	}
	u.paths[path] = true
	if u.room -= size; u.room < 0 {
		return fmt.Errorf("the disk is too small: with %.200q, its files are larger than %s has room for", name, u.cache.root)
	}
	in, err := open()
	if err != nil {
		return fmt.Errorf("the entry %.200q: %w", name, err)
	}
	defer in.Close()
	p, err := u.cache.openPartial(u.ctx, keyOf("unpack", u.archive.Digest, path))
	if err != nil {
		return err
	}
	defer p.close()
	defer p.remove()
	if err := p.f.Truncate(0); err != nil {
		return &diskError{err}
	}
	sum := sha256.New()
	to := io.MultiWriter(sum, diskWriter{p.f})
	n, err := io.CopyBuffer(to, io.LimitReader(&stoppable{u.ctx, in}, size+1), make([]byte, copyBuffer))
	if err == nil && n != size {
		err = fmt.Errorf("it has %d bytes or more, and says %d", n, size)
	}
	if err != nil {
		return fmt.Errorf("the entry %.200q: %w", name, err)
	}
	f := File{path, n, digestPrefix + hex.EncodeToString(sum.Sum(nil))}
	u.files = append(u.files, f)
	return u.cache.adopt(p.name, f.Digest, u.hold)
}

// diskWriter is a file whose errors are the disk's.
type diskWriter struct{ f *os.File }

func (w diskWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	if err != nil {
		err = diskErrorOf(err)
	}
	return n, err
}
