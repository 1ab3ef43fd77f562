package server

import (
	"context"
	"reflect"
	"slices"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/modelhost"
	"pinion/runtime/supervise"
)

// readAgain reads the file of models: new ones come, missing ones leave, changed ones are replaced, and the rest stays
// as it is. A file with a mistake changes nothing.
func (f *Server) readAgain() {
	f.auth.Reload()
	f.models.changing.Lock()
	defer f.models.changing.Unlock()
	wanted, err := f.read.File()
	if err != nil {
		f.log.Error("the file of models has a mistake: nothing changes", "error", err)
		return
	}
	f.log.Info("the file of models is read again", "asked_by", "SIGHUP", "models", len(wanted.List))
	f.host.SetLimit(int64(wanted.Memory))
	before := f.all()
	var list []*servedModel
	for _, of := range wanted.List {
		if m := f.serveAgain(named(before, of.Name), of); m != nil {
			list = append(list, m)
		}
	}
	for _, m := range before {
		if m.added && named(list, m.Name) == nil {
			list = append(list, m)
		}
	}
	if len(list) == 0 && len(wanted.List) > 0 { // the server stops
		return
	}
	f.models.mirrors = wanted.Mirrors
	f.show(list, wanted.Traffic)
	for _, old := range before {
		if !slices.Contains(list, old) {
			f.models.add(old)
			go f.retire(old)
		}
	}
}

// serveAgain returns the model as it is to be served: the old one where it is so already, or where the new one cannot
// be served, or nil if neither is there.
func (f *Server) serveAgain(old *servedModel, of config.Named) *servedModel {
	if old != nil && reflect.DeepEqual(old.of, of) {
		return old
	}
	m, err := f.succeed(old, of)
	switch {
	case err != nil && old == nil:
		f.log.Error("the new model is not served", "model", of.Name, "error", err)
		return nil
	case err != nil:
		old.Log.Error("the changed model is not served: it stays as it was", "error", err)
		return old
	}
	m.Log.Info("serving", "folder", m.of.Found.Dir)
	return m
}

// named is the model of that name, or nil.
func named(list []*servedModel, name string) *servedModel {
	i := slices.IndexFunc(list, func(m *servedModel) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return list[i]
}

// succeed begins to serve a model, in the place of an old one or nil. If the old one is loaded, the new one is ready
// when succeed returns; with --reload-strategy stop-first it is loaded once the old one has ended.
func (f *Server) succeed(old *servedModel, of config.Named) (*servedModel, error) {
	m := &servedModel{server: f, of: of}
	m.makeMetrics()
	if err := m.host(true); err != nil {
		return nil, err
	}
	if err := m.joinQueue(); err != nil {
		m.close()
		return nil, err
	}
	if !f.models.add(m) {
		m.close()
		return nil, modelhost.ErrClosed
	}
	loaded := old != nil && old.isReady()
	if old != nil && of.Settings.Fleet.Renewal == string(supervise.StopFirst) {
		m.Lifecycle.Follow(old.ended) // requests wait for that in the new one: in the old one they would load it again
		loaded = false
	}
	m.beginLate()
	if loaded {
		if err := m.Lifecycle.Load(context.Background(), false); err != nil {
			go f.retire(m)
			return nil, err
		}
	}
	return m, nil
}

// show lets requests find these models, the first of which is the default. traffic is the shares that the file gives to
// versions; nil means they stay.
func (f *Server) show(list []*servedModel, traffic config.Traffic) {
	f.models.replace(list)
	f.groupVersions(list, traffic)
	f.routeJobs(list)
	for _, m := range list {
		f.models.remove(m)
	}
	f.endpoints.http.SetModels(f.httpModels(false))
	if f.endpoints.monitor != nil {
		f.endpoints.monitor.SetModels(f.httpModels(true))
	}
	f.describe()
}

// retire ends a model that requests find no more, once its predictions have ended.
func (f *Server) retire(m *servedModel) {
	m.Service.Drain()
	m.drainQueue()
	m.closeDashboard()
	if err := m.Lifecycle.Unload(context.Background(), true); err != nil {
		return // the server stops, and ends it
	}
	m.close()
	m.Service.Close()
	f.models.remove(m)
	close(m.ended)
}

// successor is the model that requests find in the place of this one, which leaves; nil means there is none.
func (m *servedModel) successor() *servedModel {
	if !m.Service.Draining() {
		return nil
	}
	if next := named(m.server.all(), m.Name); next != m {
		return next
	}
	return nil
}

// isReady reports whether the model takes predictions.
func (m *servedModel) isReady() bool {
	state, _ := m.Lifecycle.State()
	return state == modelhost.Ready
}
