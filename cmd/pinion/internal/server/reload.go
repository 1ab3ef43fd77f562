package server

import (
	"os"
	"os/signal"
	"syscall"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/runtime/supervise"
)

// use makes read the model that workers load from now on.
func (m *servedModel) use(read *model.Model) {
	m.source.current.Store(read)
	if read.Both {
		m.log.Warn(model.CogFile + ": " + model.BothWhat + "; " + model.BothMend)
	}
}

// reload replaces the workers, one after another, by workers that load the model as it is now. It returns at once. If
// the folder cannot be served, the log says so and the workers stay. The log also names a binary of another version,
// which no worker will be of. The tokens are read anew in any case.
func (m *servedModel) reload(why string) (notice string, err error) {
	return m.renew(why, func(w *supervise.Supervisor) { w.Renew("reload") })
}

// renew is reload, with the renewal of one worker.
func (m *servedModel) renew(why string, one func(*supervise.Supervisor)) (notice string, err error) {
	m.server.auth.Reload()
	read, err := m.s.FindModel(m.source.found.Dir)
	if err != nil {
		m.log.Error("the model is not reloaded", "error", err)
		return "", err
	}
	if notice = m.server.image.Change(version.Pinion); notice != "" {
		m.log.Warn(notice)
	}
	m.use(read)
	if m.server.several { // the log has the model's name already
		m.log.Info("reloading", "asked_by", why)
	} else {
		m.log.Info("reloading", "asked_by", why, "model", read.Name())
	}
	o, set := m.workerOptions(read, "", nil), m.workers.current()
	m.workers.reloads.begin(func() { set.preloader.Renew(o.Spec, o.Env) }, set.preloader != nil, func() {
		for i, w := range set.all {
			w.Reset(o.Spec, m.workers.withDevice(o.Env, i))
			one(w)
		}
	})
	return notice, nil
}

// reloader is what POST /reload calls, at the root or below /models, where that is allowed.
func (f *Server) reloader(of func() *servedModel) func() (string, error) {
	if !f.s.Exposure.Reload {
		return nil
	}
	return func() (string, error) { return of().reload("POST /reload") }
}

// watchReload has SIGHUP reload the models, or read their file again. At a terminal it means that the terminal is gone,
// and ends the server as ever; and where it was set to be ignored, as nohup does, it is.
func (f *Server) watchReload() {
	if terminal.IsTerminal(os.Stdin) || terminal.IsTerminal(os.Stderr) || signal.Ignored(syscall.SIGHUP) {
		return
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			if f.reread != nil {
				f.readAgain()
				continue
			}
			for _, m := range f.all() {
				_, _ = m.reload("SIGHUP") // it has logged its error
			}
		}
	}()
}
