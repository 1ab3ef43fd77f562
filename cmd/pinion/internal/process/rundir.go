package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// RunDir is what a server has on disk while it runs: the predictions' folders, mostly. A lock that ends with the
// process distinguishes the folders of running servers from leftovers.
type RunDir struct {
	mu     sync.Mutex
	path   string
	lock   *os.File
	folder *os.File // the folder itself, locked: systemd-tmpfiles leaves alone what is in it

	description []byte // of the server, for other commands, or nil
}

const (
	// The names are specific, because sweep removes a folder that it takes for a leftover with all that is in it.
	runDirPattern = "pinion-run-*"
	lockName      = "lock"
	unlockedName  = "lock.new"
)

// MakeRunDir removes what dead servers left behind and makes a new folder, for this user alone.
func MakeRunDir() (*RunDir, error) {
	sweep(os.TempDir())
	path, err := os.MkdirTemp("", runDirPattern)
	if err != nil {
		return nil, fmt.Errorf("make run folder: %w; set TMPDIR to a folder that can be written to", err)
	}
	d := &RunDir{path: path}
	if err := d.takeLocks(); err != nil {
		_ = d.Remove()
		return nil, err
	}
	return d, nil
}

// SDK returns the folder of the cog package, where it is not kept elsewhere.
func (d *RunDir) SDK() string { return filepath.Join(d.Path(), "sdk") }

func (d *RunDir) Files() string { return filepath.Join(d.Path(), "files") }

// RemakeFiles makes the folder of the predictions' files again.
func (d *RunDir) RemakeFiles() (string, error) {
	err := d.Keep()
	return d.Files(), err
}

// Path returns where the folder is. It changes if it was removed and its name was taken since.
func (d *RunDir) Path() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.path
}

// Keep makes the folder again if a cleaner of temporary files, for example, has removed it or its lock.
func (d *RunDir) Keep() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isThere() {
		return nil
	}
	// A folder of that name may be another user's, who can write to TMPDIR. It is not used.
	if err := os.Mkdir(d.path, 0o700); errors.Is(err, os.ErrExist) && !d.isOurs() {
		path, err := os.MkdirTemp("", runDirPattern)
		if err != nil {
			return fmt.Errorf("make run folder: %w", err)
		}
		d.path = path
	} else if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make run folder: %w", err)
	}
	d.unlock()
	if err := d.takeLocks(); err != nil {
		return err
	}
	return d.describe()
}

// isThere reports whether the folder is the one that was locked, and has its lock still. Called with the lock held.
func (d *RunDir) isThere() bool {
	return d.isOurs() && same(filepath.Join(d.path, lockName), d.lock)
}

// isOurs reports whether the folder is the one that was locked. Called with the lock held.
func (d *RunDir) isOurs() bool { return same(d.path, d.folder) }

// same reports whether a path leads to an open file.
func same(path string, open *os.File) bool {
	there, err := os.Lstat(path)
	if err != nil || open == nil {
		return false
	}
	was, err := open.Stat()
	return err == nil && os.SameFile(there, was)
}

// takeLocks locks the folder. Called with the lock held, or by one goroutine.
func (d *RunDir) takeLocks() (err error) {
	if d.lock, err = makeLock(d.path); err != nil {
		return fmt.Errorf("lock run folder: %w", err)
	}
	if d.folder, err = os.Open(d.path); err == nil {
		err = unix.Flock(int(d.folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return fmt.Errorf("lock run folder: %w", err)
	}
	return nil
}

// unlock closes what takeLocks has opened.
func (d *RunDir) unlock() {
	for _, f := range []*os.File{d.lock, d.folder} {
		if f != nil {
			f.Close()
		}
	}
	d.lock, d.folder = nil, nil
}

// Refresh gives the folder's files a new time: cleaners other than systemd's go by the times of files alone.
func (d *RunDir) Refresh(now time.Time) {
	path := d.Path()
	for _, pattern := range []string{"", lockName, serverName, "files", "files/*", "files/*/.lock"} {
		found, _ := filepath.Glob(filepath.Join(path, pattern)) // fails for a bad pattern only
		for _, name := range found {
			_ = os.Chtimes(name, now, now) // it may be gone by now
		}
	}
}

// refreshInterval is the time between two calls of Refresh: cleaners count in days.
const refreshInterval = time.Hour

// KeepFresh keeps the folder, for as long as the process lives.
func (d *RunDir) KeepFresh() {
	for range time.Tick(refreshInterval) {
		d.Refresh(time.Now())
	}
}

func (d *RunDir) Remove() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := os.RemoveAll(d.path)
	d.unlock()
	return err
}

// makeLock makes a folder's lock. The file gets its name once it is locked, so that no server which sweeps
// meanwhile finds it free.
func makeLock(folder string) (*os.File, error) {
	unnamed := filepath.Join(folder, unlockedName)
	lock, err := takeLock(unnamed, os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(unnamed, filepath.Join(folder, lockName)); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

func takeLock(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// unlockedAge is the age at which a folder without a lock file is a leftover: a server makes its
// lock right after its folder.
const unlockedAge = time.Minute

// sweep removes the run folders of dead servers of this user. What it cannot remove it leaves.
func sweep(tmp string) {
	found, _ := filepath.Glob(filepath.Join(tmp, runDirPattern)) // fails for a bad pattern only
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !ownedByUs(info) {
			continue
		}
		lock, err := takeLock(filepath.Join(path, lockName), 0)
		switch {
		case err == nil:
			_ = os.RemoveAll(path)
			lock.Close()
		case errors.Is(err, os.ErrNotExist) && time.Since(info.ModTime()) > unlockedAge:
			// What its server has put there is known; anything else is not ours, and the folder then stays.
			_ = os.Remove(filepath.Join(path, unlockedName))
			_ = os.Remove(path)
		}
	}
}
