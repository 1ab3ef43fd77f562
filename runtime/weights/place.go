package weights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// placement puts the files of a weight at its target.
type placement struct {
	cache *Cache
	log   *slog.Logger
	w     *Weight
	// copied means that a file was copied, which was logged.
	copied bool
	into   bool              // as Options say
	was    map[string]string // what was placed, by path
}

// placed records which files are at a target.
type placed struct {
	Target string            `json:"target"`
	Files  map[string]string `json:"files"` // digests by path
}

func (c *Cache) placedPath(target string) string {
	return filepath.Join(c.root, placedFolder, keyOf(target)+".json")
}

// placedAt returns what was placed at a target.
func (c *Cache) placedAt(target string) placed {
	p := readPlaced(c.placedPath(target))
	if p.Target != target {
		return placed{Target: target}
	}
	return p
}

func readPlaced(name string) (p placed) {
	data, err := os.ReadFile(name)
	if err != nil || json.Unmarshal(data, &p) != nil {
		return placed{}
	}
	return p
}

// pathOf returns where a file of a weight lies.
func (w *Weight) pathOf(f File) string {
	if w.IsFile {
		return w.Target
	}
	return filepath.Join(w.Target, filepath.FromSlash(f.Path))
}

// run places files that are in the cache, and removes those of an earlier placement that are not among them. One process
// at a time works at a target.
func (p *placement) run(ctx context.Context, files []File) error {
	record := p.cache.placedPath(p.w.Target)
	lock, err := os.OpenFile(record+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := waitLock(ctx, lock, unix.LOCK_EX); err != nil {
		return err
	}
	was := p.cache.placedAt(p.w.Target)
	p.was = was.Files
	now := placed{Target: p.w.Target, Files: maps.Clone(was.Files)} // all, until they are removed
	if now.Files == nil {
		now.Files = map[string]string{}
	}
	if p.isComplete(files, was) {
		return nil
	}
	for _, f := range files {
		if err := p.checkStranger(f, was.Files[f.Path]); err != nil {
			return err
		}
		now.Files[f.Path] = f.Digest
	}
	// It is recorded first: a file that was placed and is not recorded would be a stranger's.
	if err := writeJSON(record, now); err != nil {
		return err
	}
	if err := p.mark(markDownloading, ""); err != nil {
		return err
	}
	p.removeLeftovers(files)
	wanted := map[string]bool{}
	for _, f := range files {
		wanted[f.Path] = true
		if err := p.file(f); err != nil {
			return err
		}
	}
	for path := range was.Files {
		if !wanted[path] && checkPath(path) == nil {
			_ = os.Remove(p.w.pathOf(File{Path: path}))
			delete(now.Files, path)
		}
	}
	if err := writeJSON(record, now); err != nil {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.mark(markReady, readyText(files))
}

// flush writes the target's file system to its disk, for another machine that mounts it.
func (p *placement) flush() error {
	if !p.into {
		return nil
	}
	folder, err := os.Open(p.w.Target)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := unix.Syncfs(int(folder.Fd())); err != nil {
		return diskErrorOf(err)
	}
	return nil
}

// isMarkedReady reports whether the target has the marker of these files.
func (p *placement) isMarkedReady(files []planned) bool {
	var all []File
	for _, f := range files {
		all = append(all, f.File)
	}
	set, _ := readMarker(p.w, markReady)
	return set == SetDigest(all)
}

// isComplete reports whether the target has the files already, and no others that were placed.
func (p *placement) isComplete(files []File, was placed) bool {
	ready, _ := os.ReadFile(filepath.Join(p.w.Target, cogFolder, markReady))
	if len(was.Files) != len(files) || !p.w.IsFile && string(ready) != readyText(files) {
		return false
	}
	for _, f := range files {
		if was.Files[f.Path] != f.Digest || !p.isPlaced(p.w.pathOf(f), f) {
			return false
		}
	}
	return true
}

func readyText(files []File) string { return SetDigest(files) + "\n" }

// removeLeftovers removes what a killed process was placing.
func (p *placement) removeLeftovers(files []File) {
	folders := map[string]bool{}
	for _, f := range files {
		folders[filepath.Dir(p.w.pathOf(f))] = true
	}
	for folder := range folders {
		found, _ := os.ReadDir(folder)
		for _, e := range found {
			if strings.HasPrefix(e.Name(), temporaryPrefix) {
				_ = os.Remove(filepath.Join(folder, e.Name()))
			}
		}
	}
}

// isProvided reports whether a target has files that no run has placed: the operator's, from a volume or the image.
func (f *fetcher) isProvided(w *Weight) (bool, error) {
	if f.o.Cache.placedAt(w.Target).Files != nil {
		return false, nil
	}
	info, err := os.Stat(w.Target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case w.IsFile != info.Mode().IsRegular():
		return false, fmt.Errorf("the target %s is there already, and is no %s", w.Target, map[bool]string{
			true: "file", false: "folder",
		}[w.IsFile])
	case w.IsFile:
		return true, f.checkProvided(w, info)
	}
	found, err := os.ReadDir(w.Target)
	if err != nil {
		return false, err
	}
	for _, e := range found {
		if e.Name() == cogFolder { // it was placed, by a server that had another cache
			return false, nil
		}
	}
	return len(found) > 0, nil
}

// checkProvided checks the digest of a file that is at its target already, once.
func (f *fetcher) checkProvided(w *Weight, info fs.FileInfo) error {
	if w.SHA256 == "" {
		return nil
	}
	e := entry{File: File{Size: info.Size()}, Key: localKey(w.Target, info)}
	if f.o.Cache.complete(&e); e.Digest == "" {
		digest, size, err := digestOf(w.Target)
		if err != nil {
			return err
		}
		e.Digest = digest
		f.o.Cache.remember(e.Key, File{Digest: digest, Size: size})
	}
	if want := digestPrefix + w.SHA256; e.Digest != want {
		return &wrongError{w.Target, "SHA-256", want, e.Digest, false}
	}
	return nil
}

// checkStranger refuses to replace a file that was not placed; was is the digest of what was placed there, or "".
func (p *placement) checkStranger(f File, was string) error {
	to := p.w.pathOf(f)
	there, err := os.Lstat(to)
	switch {
	case err != nil:
		return nil
	case there.IsDir():
		return fmt.Errorf("%s is a folder: the weights have a file there", to)
	case was != "" || p.isMarked():
		return nil
	}
	if digest, size, err := digestOf(to); err != nil || digest != f.Digest || size != f.Size {
		return fmt.Errorf("%s is there already, and is another file: remove it, or give the weights another target", to)
	}
	return nil
}

// The markers of Cog's protocol, in a folder below the target.
const (
	markReady       = "ready" // holds the digest of the set
	markDownloading = "downloading"
	markFailed      = "failed" // holds the reason
)

func (p *placement) isMarked() bool {
	return !p.w.IsFile && isThere(filepath.Join(p.w.Target, cogFolder))
}

// isReadyOfOther reports whether a run with another cache has placed all files of a folder.
func (c *Cache) isReadyOfOther(w *Weight) bool {
	if w.IsFile || c.placedAt(w.Target).Files != nil {
		return false
	}
	set, is := readMarker(w, markReady)
	return is && (w.Lock == nil || set == w.Lock.SetDigest)
}

// mark writes a marker and removes the others.
func (p *placement) mark(name, text string) error {
	if p.w.IsFile {
		return nil
	}
	folder := filepath.Join(p.w.Target, cogFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of the target: %w", err)
	}
	if err := writeWhole(filepath.Join(folder, name), []byte(text)); err != nil {
		return fmt.Errorf("mark the target: %w", err)
	}
	for _, other := range []string{markReady, markDownloading, markFailed} {
		if other != name {
			_ = os.Remove(filepath.Join(folder, other))
		}
	}
	return nil
}

// file places one file, unless it is there.
func (p *placement) file(f File) error {
	to := p.w.pathOf(f)
	if p.isPlaced(to, f) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("make the folder of the target: %w", err)
	}
	temporary, err := p.temporary(f, filepath.Dir(to))
	if err != nil {
		return fmt.Errorf("place %s: %w", to, err)
	}
	err = os.Rename(temporary, to)
	_ = os.Remove(temporary) // a rename to another link of the same file leaves both names
	if err != nil {
		return fmt.Errorf("place %s: %w", to, err)
	}
	return nil
}

// isPlaced reports whether a file is at its place: the one of the cache, or a copy that was made after it, of its size.
func (p *placement) isPlaced(name string, f File) bool {
	there, err := os.Stat(name) // follows a link into the cache
	if err != nil || !there.Mode().IsRegular() || there.Size() != f.Size {
		return false
	}
	cached, err := os.Stat(p.cache.path(f.Digest))
	return err == nil && (os.SameFile(there, cached) || p.was[f.Path] == f.Digest)
}

// temporary puts a file of the cache under a temporary name into a folder: as a copy that shares the blocks, a hard
// link, a symbolic link where the file system has no others, or, on another file system, a copy.
func (p *placement) temporary(f File, folder string) (name string, err error) {
	from := p.cache.path(f.Digest)
	source, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer source.Close()
	to, err := os.CreateTemp(folder, temporaryPrefix+"*")
	if err != nil {
		return "", err
	}
	name = to.Name()
	defer func() {
		_ = to.Close()
		if err != nil {
			_ = os.Remove(name)
		}
	}()
	if err = unix.IoctlFileClone(int(to.Fd()), int(source.Fd())); err == nil {
		return name, to.Chmod(0o644)
	}
	if err = os.Remove(name); err != nil {
		return "", err
	}
	if err = os.Link(from, name); err == nil {
		return name, nil
	}
	if !errors.Is(err, unix.EXDEV) && !p.into {
		if err = os.Symlink(from, name); err == nil {
			return name, nil
		}
	}
	if !p.copied {
		p.copied = true
		p.log.Warn("weights are copied: their target is on another file system than their cache",
			"weights", p.w.Name, "target", p.w.Target, "cache", p.cache.root,
			"fix", "set PINION_CACHE_DIR to a folder of the target's file system")
	}
	if to, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return "", err
	}
	if _, err = io.Copy(to, source); err != nil {
		return "", diskErrorOf(err)
	}
	return name, to.Sync()
}

// temporaryPrefix begins the name of a file that is being placed.
const temporaryPrefix = ".pinion-weights-"
