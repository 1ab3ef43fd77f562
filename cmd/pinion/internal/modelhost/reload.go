package modelhost

import (
	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/model"
	"pinion/runtime/supervise"
)

// use makes workers load read from now on.
func (m *Model) use(read *model.Model) {
	m.source.current.Store(read)
	for _, p := range model.Shown(read.Findings) {
		fix := p.Fix
		p.Fix = ""
		m.Log.Warn(p.String(), "fix", fix)
	}
}

// Reload replaces the workers, one after another, by workers that load the model as it is now. It returns at once. If
// the folder cannot be served, the log says so and the workers stay. The log also names a binary of another version on
// disk: workers still run the one of this process.
func (m *Model) Reload(why string) (notice string, err error) {
	return m.renew(why, func(w *supervise.Supervisor) { w.Renew("reload") })
}

// renew is Reload, with the renewal of one worker.
func (m *Model) renew(why string, renewWorker func(*supervise.Supervisor)) (notice string, err error) {
	m.host.o.Reload()
	read, err := m.s.FindModel(m.source.found.Dir)
	if err != nil {
		m.Log.Error("the model is not reloaded", "error", err)
		return "", err
	}
	if notice = m.host.image.Change(version.Pinion); notice != "" {
		m.Log.Warn(notice)
	}
	m.use(read)
	if err := m.weights.Begin(read); err != nil {
		m.Log.Error("the model is not reloaded", "error", err)
		return "", err
	}
	if m.host.o.Several { // the log has the model's name already
		m.Log.Info("reloading", "asked_by", why)
	} else {
		m.Log.Info("reloading", "asked_by", why, "model", read.Name())
	}
	o, set := m.workerOptions(read, "", nil), m.workers.current()
	if set.supervisors == nil { // the next load sets up the model as it is then
		m.dropSetup()
		return notice, nil
	}
	m.workers.reloads.begin(func() { set.preloader.Renew(o.Spec, o.Env) }, set.preloader != nil, func() {
		for i, w := range set.supervisors {
			w.Reset(o.Spec, m.workers.withDevice(o.Env, i))
			renewWorker(w)
		}
	})
	return notice, nil
}
