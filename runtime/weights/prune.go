package weights

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pruned is what a prune has done.
type Pruned struct {
	Files       int
	Bytes, Left int64
}

// evictable is a file of the cache that a prune may remove.
type evictable struct {
	name string
	size int64 // on the disk, in bytes
	used int64 // when it was used last, in nanoseconds
}

// Prune removes the files that were used longest ago, until the cache has at most keep bytes. Files stay that a process
// holds or fetches, and those that a target has as a symbolic link.
func (c *Cache) Prune(ctx context.Context, keep int64) (p Pruned, err error) {
	unlock, err := c.lock(ctx, unix.LOCK_EX)
	if err != nil {
		return p, err
	}
	defer unlock()
	used, err := c.inUse()
	if err != nil {
		return p, err
	}
	var list []evictable
	for _, folder := range []string{filesFolder, partialFolder} {
		err := filepath.WalkDir(filepath.Join(c.root, folder), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			e := evictable{name: name, size: info.Size(), used: info.ModTime().UnixNano()}
			if st, is := info.Sys().(*syscall.Stat_t); is {
				e.size, e.used = st.Blocks*512, max(e.used, st.Atim.Nano())
			}
			p.Left += e.size
			if !used[d.Name()] && !strings.HasSuffix(name, stateSuffix) && d.Name()[0] != '.' {
				list = append(list, e)
			}
			return nil
		})
		if err != nil {
			return p, err
		}
	}
	slices.SortFunc(list, func(a, b evictable) int { return cmp.Compare(a.used, b.used) })
	for _, e := range list {
		if p.Left <= keep {
			break
		}
		removed, err := evict(e.name)
		if err != nil {
			return p, fmt.Errorf("evict a file of the cache: %w", err)
		}
		if removed {
			p.Files, p.Bytes, p.Left = p.Files+1, p.Bytes+e.size, p.Left-e.size
		}
	}
	return p, nil
}

// evict removes a file, unless a process has it locked, as one that is being fetched.
func evict(name string) (bool, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) { // what was fetched is whole now, or given up
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, nil
	}
	_ = os.Remove(name + stateSuffix)
	return true, os.Remove(name)
}

// inUse returns the names of the files that processes hold, and of those that targets have as symbolic links. Holds of
// processes that have ended are removed.
func (c *Cache) inUse() (map[string]bool, error) {
	used := map[string]bool{}
	holds, err := filepath.Glob(filepath.Join(c.root, heldFolder, "*"))
	if err != nil {
		return nil, err
	}
	for _, name := range holds {
		f, err := os.Open(name)
		if err != nil {
			continue // it has ended
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
			_ = os.Remove(name)
		}
		data, err := os.ReadFile(name)
		_ = f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for digest := range strings.Lines(string(data)) {
			used[strings.TrimPrefix(strings.TrimSpace(digest), digestPrefix)] = true
		}
	}
	records, err := filepath.Glob(filepath.Join(c.root, placedFolder, "*"+stateSuffix))
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		for _, name := range c.linksOf(record) {
			used[filepath.Base(name)] = true
		}
	}
	return used, nil
}

// linksOf returns the files of the cache that a target has as symbolic links.
func (c *Cache) linksOf(record string) (names []string) {
	p := readPlaced(record)
	for path := range p.Files {
		for _, at := range []string{filepath.Join(p.Target, filepath.FromSlash(path)), p.Target} {
			if to, err := os.Readlink(at); err == nil && strings.HasPrefix(to, c.root+"/") {
				names = append(names, to)
			}
		}
	}
	return names
}
