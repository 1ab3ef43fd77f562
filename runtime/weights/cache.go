package weights

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Cache is a folder of files by their SHA-256. Any number of processes may use it at once.
type Cache struct{ root string }

// Folders of the cache. Cog has the first, and leaves the others alone.
const (
	filesFolder   = "files/sha256" // ab/HEX: whole files
	partialFolder = "partial"      // downloads that go on, each locked by the process that writes it
	indexFolder   = "index"        // what sources had when they were last asked
	placedFolder  = "placed"       // which files were placed at a target
	heldFolder    = "held"         // which files a process uses, each locked by that process
)

// CacheRoot returns the folder of the cache, by the environment.
func CacheRoot(env func(string) string) (string, error) {
	const below = "weights"
	if root := cmp.Or(env("PINION_CACHE_DIR"), env("COG_CACHE_DIR")); root != "" {
		return filepath.Abs(filepath.Join(root, below))
	}
	if root := env("XDG_CACHE_HOME"); filepath.IsAbs(root) {
		return filepath.Join(root, "cog", below), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "cog", below), nil
	}
	return "", errors.New("there is no folder for the cache of weights: set PINION_CACHE_DIR")
}

// OpenCache opens a cache, and makes its folders.
func OpenCache(root string) (*Cache, error) {
	for _, folder := range []string{filesFolder, partialFolder, indexFolder, placedFolder, heldFolder} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return nil, fmt.Errorf("make the cache of weights: %w; PINION_CACHE_DIR names another folder", err)
		}
	}
	return &Cache{root}, nil
}

// Root returns the folder of the cache.
func (c *Cache) Root() string { return c.root }

// path returns where a file is, or would be. The digest was checked.
func (c *Cache) path(digest string) string {
	digits := digest[len(digestPrefix):]
	return filepath.Join(c.root, filesFolder, digits[:2], digits)
}

// has reports whether the cache has a file of a digest and a size in bytes, negative for any.
func (c *Cache) has(digest string, size int64) bool {
	if digest == "" {
		return false
	}
	info, err := os.Lstat(c.path(digest))
	return err == nil && info.Mode().IsRegular() && (size < 0 || info.Size() == size)
}

// hasAll reports whether the cache has files.
func (c *Cache) hasAll(files []File) bool {
	return !slices.ContainsFunc(files, func(f File) bool { return !c.has(f.Digest, f.Size) })
}

// use notes that a file is used now, for prune.
func (c *Cache) use(digest string) {
	now := time.Now()
	if info, err := os.Stat(c.path(digest)); err == nil {
		_ = os.Chtimes(c.path(digest), now, info.ModTime()) // another user's file stays as it is
	}
}

// adopt makes a checked file of this file system the one of a digest, and holds it.
func (c *Cache) adopt(name, digest string, hold *Hold) error {
	unlock, err := c.lock(context.Background(), unix.LOCK_SH) // no prune is between the two
	if err != nil {
		return err
	}
	defer unlock()
	if err := hold.add(digest); err != nil {
		return err
	}
	to := c.path(digest)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Chmod(name, 0o444); err != nil { // a model that writes to it would change it for all
		return err
	}
	return os.Rename(name, to)
}

// keyOf returns a name for a file of the cache that stands for texts, which may be secret.
func keyOf(texts ...string) string {
	sum := sha256.New()
	for _, text := range texts {
		sum.Write([]byte(strconv.Itoa(len(text)) + ":" + text))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// listing is what a source has, or had when it was last asked.
type listing struct {
	// Fingerprint names the version: "commit:…", "etag:…", "sha256:…", or "" where the source has none.
	Fingerprint string  `json:"fingerprint"`
	Files       []entry `json:"files"`
}

// entry is a file of a source.
type entry struct {
	File           // its Digest is "" if it is not known before the file is fetched
	Key    string  `json:"key"` // stands for this version of the file, or ""
	object *object // at a server, or nil
	local  string  // on this machine, or ""
}

// known is the digest of a version of a file.
type known struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

func (c *Cache) indexPath(key string) string { return filepath.Join(c.root, indexFolder, key+".json") }

// complete adds what is known of a file from earlier fetches.
func (c *Cache) complete(e *entry) {
	var was known
	if e.Digest != "" || e.Key == "" {
		return
	}
	data, err := os.ReadFile(c.indexPath(e.Key))
	if err != nil || json.Unmarshal(data, &was) != nil || e.Size >= 0 && e.Size != was.Size {
		return
	}
	if isDigest(was.Digest) {
		e.Digest, e.Size = was.Digest, was.Size
	}
}

// remember records the digest of a version of a file.
func (c *Cache) remember(key string, f File) {
	if key != "" {
		_ = writeJSON(c.indexPath(key), known{f.Digest, f.Size}) // without it, the file is fetched again
	}
}

func listingKey(s *Source) string { return keyOf("listing", s.URI, s.commit) }

// remembered returns what a source had; the zero listing means it is not known.
func (c *Cache) remembered(s *Source) (l listing) {
	data, err := os.ReadFile(c.indexPath(listingKey(s)))
	if err != nil || json.Unmarshal(data, &l) != nil {
		return listing{}
	}
	for i := range l.Files {
		e := &l.Files[i]
		if e.Digest != "" && !isDigest(e.Digest) || checkPath(e.Path) != nil {
			return listing{}
		}
		c.complete(e)
	}
	return l
}

// rememberListing records what a source has.
func (c *Cache) rememberListing(s *Source, l listing) { _ = writeJSON(c.indexPath(listingKey(s)), l) }

// writeJSON writes a file at once, so that readers see the old or the new one.
func writeJSON(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return writeWhole(name, data)
}

func writeWhole(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Hold keeps files in the cache while a process uses them. Close ends it, and so does the end of the process.
type Hold struct{ f *os.File }

func (h *Hold) add(digest string) error {
	_, err := h.f.WriteString(digest + "\n")
	return err
}

// hold protects files of the cache from prune, whether they are there already or not.
func (c *Cache) hold(digests []string) (*Hold, error) {
	// A prune that runs may not have seen this hold, so it is waited for.
	unlock, err := c.lock(context.Background(), unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	defer unlock()
	f, err := os.CreateTemp(filepath.Join(c.root, heldFolder), "held-*")
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	h := &Hold{f}
	for _, digest := range digests {
		if err := h.add(digest); err != nil {
			h.Close()
			return nil, err
		}
	}
	return h, nil
}

// extend adds files to a hold.
func (c *Cache) extend(h *Hold, files []File) error {
	unlock, err := c.lock(context.Background(), unix.LOCK_SH)
	if err != nil {
		return err
	}
	defer unlock()
	for _, f := range files {
		if err := h.add(f.Digest); err != nil {
			return err
		}
	}
	return nil
}

// hasHeld reports whether the cache has all files, which are held from then on.
func (c *Cache) hasHeld(h *Hold, files []File) bool {
	return h != nil && c.hasAll(files) && c.extend(h, files) == nil && c.hasAll(files)
}

// Close ends the hold.
func (h *Hold) Close() {
	if h != nil {
		_ = os.Remove(h.f.Name())
		_ = h.f.Close()
	}
}

// lock locks the cache for those that hold files (LOCK_SH) or evict some (LOCK_EX).
func (c *Cache) lock(ctx context.Context, how int) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(c.root, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := waitLock(ctx, f, how); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// lockPause is how long a process waits before it tries a lock again. A lock that blocked could not be given up.
const lockPause = 50 * time.Millisecond

// waitLock locks a file. The kernel releases a lock when its holder dies.
func waitLock(ctx context.Context, f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		timer := time.NewTimer(lockPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// room returns how many bytes this user can write to the file system of a folder.
func room(folder string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// isThere reports whether a path leads to something.
func isThere(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}
