package modelhost

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// settleTime is how long nothing must be written before changes are read: editors save in several steps.
const settleTime = 100 * time.Millisecond

// watcher tells which source and configuration files of a model's folder have changed. Close it.
//
// A change is reported once, when the file's content differs and nothing has been written for a moment. So a save is
// one report, however the editor writes it.
type watcher struct {
	dir     string
	events  *fsnotify.Watcher
	changes chan []string
	done    chan struct{}

	// Used by run's goroutine.
	known   map[string]sum  // the files below dir, as they were last reported
	pending map[string]bool // paths with events that were not looked at
	report  map[string]bool // names that have changed and were not read from changes
	faults  func(error)
}

type sum [sha256.Size]byte

// newWatcher begins to watch dir. What is in it now is not reported. Another goroutine calls faults with what cannot be
// watched.
func newWatcher(dir string, faults func(error)) (*watcher, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	w := &watcher{
		dir: dir, events: events, changes: make(chan []string), done: make(chan struct{}),
		known: map[string]sum{}, pending: map[string]bool{}, report: map[string]bool{}, faults: faults,
	}
	if err := events.Add(dir); err != nil {
		events.Close()
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	w.descend(dir)
	w.settle()
	clear(w.report)
	go w.run()
	return w, nil
}

// Changes yields sorted lists of changed files, relative to the folder: all that changed until it is read. Close closes
// it.
func (w *watcher) Changes() <-chan []string { return w.changes }

// Close ends the watching.
func (w *watcher) Close() error {
	err := w.events.Close()
	<-w.done
	return err
}

func (w *watcher) run() {
	defer close(w.done)
	defer close(w.changes)
	settled := time.NewTimer(settleTime)
	settled.Stop()
	for {
		var reader chan<- []string
		var list []string
		if len(w.report) > 0 {
			reader, list = w.changes, slices.Sorted(maps.Keys(w.report))
		}
		select {
		case event, open := <-w.events.Events:
			if !open {
				return
			}
			if event.Op != fsnotify.Chmod && w.note(event.Name) {
				settled.Reset(settleTime)
			}
		case err, open := <-w.events.Errors:
			if !open {
				return
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) { // events were missed
				w.descend(w.dir)
				settled.Reset(settleTime)
				continue
			}
			w.faults(err)
		case <-settled.C:
			w.settle()
		case reader <- list:
			clear(w.report)
		}
	}
}

// note takes in an event of a path, and reports whether it matters. A new folder is watched at once.
func (w *watcher) note(path string) bool {
	name, err := filepath.Rel(w.dir, path)
	if err != nil {
		return false
	}
	// fsnotify still reports the folders in a renamed one by their old names.
	for _, watched := range w.events.WatchList() {
		if strings.HasPrefix(watched, path+string(filepath.Separator)) && isMissing(watched) {
			_ = w.events.Remove(watched) // fails if it was removed meanwhile
		}
	}
	matters := isSource(name)
	if info, err := os.Lstat(path); err == nil && info.IsDir() && !ignored(path) {
		w.descend(path)
		matters = true
	}
	for inside := range w.known {
		matters = matters || isBelow(inside, name)
	}
	if matters {
		w.pending[path] = true
	}
	return matters
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// isBelow reports whether a name lies in a folder.
func isBelow(name, folder string) bool {
	return strings.HasPrefix(name, folder+string(filepath.Separator))
}

// descend watches the folders at and below a path, and marks their files as pending.
func (w *watcher) descend(path string) {
	// the function returns no other error
	_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it is missing or unreadable, and so it is for Python
		case entry.IsDir() && path != w.dir && ignored(path):
			return filepath.SkipDir
		case entry.IsDir():
			if err := w.events.Add(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				w.faults(fmt.Errorf("watch %s: %w", path, err))
			}
		default:
			w.pending[path] = true
		}
		return nil
	})
}

// settle looks at the paths with events, and reports the files that differ.
func (w *watcher) settle() {
	for path := range w.pending {
		name, err := filepath.Rel(w.dir, path)
		if err != nil {
			continue
		}
		if isSource(name) {
			w.check(name)
		}
		for inside := range w.known { // of a folder that was removed or replaced
			if isBelow(inside, name) {
				w.check(inside)
			}
		}
	}
	clear(w.pending)
}

// check compares one file with its last report.
func (w *watcher) check(name string) {
	before, was := w.known[name]
	switch now, err := sumOf(filepath.Join(w.dir, name)); {
	case err != nil && was:
		delete(w.known, name)
		w.report[name] = true
	case err == nil && (!was || now != before):
		w.known[name] = now
		w.report[name] = true
	}
}

// sumOf sums up a regular file. Nothing waits for the writer of a named pipe, and no device is read without end.
func sumOf(name string) (s sum, err error) {
	file, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return s, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrInvalid
	}
	if err != nil {
		return s, err
	}
	h := sha256.New()
	_, err = io.Copy(h, file)
	return sum(h.Sum(nil)), err
}

// isSource reports whether a change of this file is a reason to reload.
func isSource(name string) bool {
	base := filepath.Base(name)
	switch {
	case name == filepath.Join(".cog", "openapi_schema.json"):
		return true
	case strings.HasPrefix(base, "."): // an editor's, like .#run.py
		return false
	case filepath.Ext(base) == ".py", base == "cog.yaml", base == "pyproject.toml":
		return true
	}
	return strings.HasPrefix(base, "requirements") && filepath.Ext(base) == ".txt"
}

// ignored reports whether a folder holds no files that a model's author edits.
func ignored(path string) bool {
	switch base := filepath.Base(path); {
	case base == "__pycache__", base == "node_modules", base == "site-packages":
		return true
	case strings.HasPrefix(base, ".") && base != ".cog":
		return true
	}
	_, err := os.Stat(filepath.Join(path, "pyvenv.cfg")) // a virtual environment
	return err == nil
}
