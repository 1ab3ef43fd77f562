package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// runDir is what a server has on disk while it runs: the predictions' folders, mostly.
// A lock that ends with the process tells the folders of the living from leftovers.
type runDir struct {
	path string
	lock *os.File
}

const (
	// Names as specific as can be: what sweep takes for a leftover is removed with all that is in it.
	runDirPattern = "pinion-run-*"
	lockName      = "lock"
	unlockedName  = "lock.new"
)

// makeRunDir removes what dead servers left behind and makes a new folder, for this user alone.
func makeRunDir() (*runDir, error) {
	sweep(os.TempDir())
	path, err := os.MkdirTemp("", runDirPattern)
	if err != nil {
		return nil, fmt.Errorf("make run folder: %w; set TMPDIR to a folder that can be written to", err)
	}
	d := &runDir{path: path}
	if d.lock, err = makeLock(path); err != nil {
		d.Remove()
		return nil, fmt.Errorf("lock run folder: %w", err)
	}
	return d, nil
}

// SDK is the folder of the cog package, where it is not kept elsewhere.
func (d *runDir) SDK() string { return filepath.Join(d.path, "sdk") }

// Files is the folder of the predictions' files.
func (d *runDir) Files() string { return filepath.Join(d.path, "files") }

// Remove removes the folder.
func (d *runDir) Remove() error {
	err := os.RemoveAll(d.path)
	if d.lock != nil {
		d.lock.Close()
	}
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
