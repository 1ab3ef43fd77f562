package main

import (
	"os"
	"path/filepath"
	"strings"

	"pinion/runtime/supervise"
	"pinion/runtime/watch"
)

// newWatcher watches the model's folder, where that was asked for.
func (f *front) newWatcher() (*watch.Watcher, error) {
	if !f.s.development.watch {
		return nil, nil
	}
	return watch.New(f.model.Dir, func(err error) {
		f.log.Warn("a part of the model's folder is not watched", "error", err, "advice", "raise fs.inotify.max_user_watches, or restart after a change there")
	})
}

func (f *front) closeWatcher() {
	if f.watcher != nil {
		_ = f.watcher.Close() // nothing is lost with it
	}
}

// followChanges reloads the model whenever its source or configuration changes.
func (f *front) followChanges() {
	if f.watcher == nil {
		return
	}
	go func() {
		for names := range f.watcher.Changes() {
			dropBytecode(f.model.Dir, names)
			why := strings.Join(names, ", ") + " changed"
			// It tells of its error; one that fails in the setup waits for the next change.
			_, _ = f.renew(why, func(w *supervise.Supervisor) { w.RenewOnce(why) })
		}
	}()
}

// dropBytecode removes the bytecode of changed files. Python takes it for good where a source file has the length and the time,
// in seconds, that it had: so quick an edit would not be seen.
func dropBytecode(dir string, names []string) {
	for _, name := range names {
		stem, isPython := strings.CutSuffix(filepath.Base(name), ".py")
		if !isPython {
			continue
		}
		cache := filepath.Join(dir, filepath.Dir(name), "__pycache__")
		entries, _ := os.ReadDir(cache) // where there is none nothing is to be removed
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), stem+".cpython-") && strings.HasSuffix(entry.Name(), ".pyc") {
				_ = os.Remove(filepath.Join(cache, entry.Name())) // or Python decides by the time, as ever
			}
		}
	}
}
