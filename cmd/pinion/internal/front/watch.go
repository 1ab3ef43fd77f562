package front

import (
	"strings"

	"pinion/cmd/pinion/internal/model"
	"pinion/runtime/supervise"
	"pinion/runtime/watch"
)

// newWatcher watches the model's folder, where that was asked for.
func (f *Server) newWatcher() (*watch.Watcher, error) {
	if !f.s.Watch {
		return nil, nil
	}
	return watch.New(f.model.Dir, func(err error) {
		f.log.Warn("a part of the model's folder is not watched", "error", err, "advice", "raise fs.inotify.max_user_watches, or restart after a change there")
	})
}

func (f *Server) closeWatcher() {
	if f.watcher != nil {
		_ = f.watcher.Close() // nothing is lost with it
	}
}

// followChanges reloads the model whenever its source or configuration changes.
func (f *Server) followChanges() {
	if f.watcher == nil {
		return
	}
	go func() {
		for names := range f.watcher.Changes() {
			model.DropBytecode(f.model.Dir, names)
			why := strings.Join(names, ", ") + " changed"
			// It tells of its error; one that fails in the setup waits for the next change.
			_, _ = f.renew(why, func(w *supervise.Supervisor) { w.RenewOnce(why) })
		}
	}()
}
