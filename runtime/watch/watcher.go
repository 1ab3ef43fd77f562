package watch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settleTime is how long nothing may be written before a change is looked at: editors save in several steps.
const settleTime = 100 * time.Millisecond

// Watcher watches one folder. Close it.
type Watcher struct {
	dir     string
	events  *fsnotify.Watcher
	changes chan []string
	done    chan struct{}

	// Of run's goroutine.
	known   map[string]sum  // the files below dir, as they were last reported
	pending map[string]bool // paths with events that were not looked at
	report  map[string]bool // changed, and not yet taken by the reader
	faults  func(error)
}

type sum [sha256.Size]byte

// New begins to watch dir. What is in it now is not reported. faults is told, by another goroutine, what cannot be watched.
func New(dir string, faults func(error)) (*Watcher, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	w := &Watcher{
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

// Changes has the names of changed files, below the folder and sorted, in one list for all that changed until it is read. It is
// closed after Close.
func (w *Watcher) Changes() <-chan []string { return w.changes }

// Close ends the watching.
func (w *Watcher) Close() error {
	err := w.events.Close()
	<-w.done
	return err
}

func (w *Watcher) run() {
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
			if errors.Is(err, fsnotify.ErrEventOverflow) { // what was missed is not known
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

// note takes in that something happened to a path, and tells whether it matters: a model may write other files all the time. A
// folder that has come is watched at once.
func (w *Watcher) note(path string) bool {
	name, err := filepath.Rel(w.dir, path)
	if err != nil {
		return false
	}
	// fsnotify goes on calling the folders in a renamed one by their old names.
	for _, watched := range w.events.WatchList() {
		if strings.HasPrefix(watched, path+string(filepath.Separator)) && isGone(watched) {
			_ = w.events.Remove(watched) // it may have gone meanwhile
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

func isGone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// isBelow tells whether a name is that of something in a folder.
func isBelow(name, folder string) bool {
	return strings.HasPrefix(name, folder+string(filepath.Separator))
}

// descend watches the folders at and below a path, and has their files looked at.
func (w *Watcher) descend(path string) {
	_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error { // the function returns no other error
		switch {
		case err != nil:
			return nil // it is gone, or cannot be read, as for Python
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

// settle looks at what had events, and reports what is not as it was.
func (w *Watcher) settle() {
	for path := range w.pending {
		name, err := filepath.Rel(w.dir, path)
		if err != nil {
			continue
		}
		if isSource(name) {
			w.look(name)
		}
		for inside := range w.known { // a folder that has gone, or has taken another's place
			if isBelow(inside, name) {
				w.look(inside)
			}
		}
	}
	clear(w.pending)
}

// look compares one file with what is known of it.
func (w *Watcher) look(name string) {
	before, was := w.known[name]
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	switch now := sum(sha256.Sum256(text)); {
	case err != nil && was:
		delete(w.known, name)
		w.report[name] = true
	case err == nil && (!was || now != before):
		w.known[name] = now
		w.report[name] = true
	}
}

// isSource tells whether a file below the folder is one of those that a reload is for.
func isSource(name string) bool {
	base := filepath.Base(name)
	switch {
	case name == filepath.Join(".cog", "openapi_schema.json"):
		return true
	case strings.HasPrefix(base, "."): // editors' own, such as .#run.py
		return false
	case filepath.Ext(base) == ".py", base == "cog.yaml", base == "pyproject.toml":
		return true
	}
	return strings.HasPrefix(base, "requirements") && filepath.Ext(base) == ".txt"
}

// ignored tells whether a folder holds nothing that a model's author edits.
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
