package modelhost

import (
	"strings"

	"pinion/cmd/pinion/internal/model"
	"pinion/runtime/supervise"
)

// watchFolder watches the model's folder, if that was asked for.
func (m *Model) watchFolder() (err error) {
	if !m.s.Watch {
		return nil
	}
	m.source.watcher, err = newWatcher(m.source.found.Dir, func(err error) {
		m.Log.Warn("a part of the model's folder is not watched", "error", err, "fix",
			"raise fs.inotify.max_user_watches, or restart after a change there")
	})
	return err
}

func (m *Model) closeWatcher() {
	if m.source.watcher != nil {
		_ = m.source.watcher.Close() // nothing is lost with it
	}
}

// followChanges reloads the model whenever its source or configuration changes.
func (m *Model) followChanges() {
	if m.source.watcher == nil {
		return
	}
	go func() {
		for names := range m.source.watcher.Changes() {
			model.DropBytecode(m.source.found.Dir, names)
			why := strings.Join(names, ", ") + " changed"
			// renew logs its error. A reload whose setup fails waits for the next change.
			_, _ = m.renew(why, func(w *supervise.Supervisor) { w.RenewOnce(why) })
		}
	}()
}
