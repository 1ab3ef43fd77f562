package server

import (
	"context"
	"reflect"
	"slices"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/modelhost"
	"pinion/runtime/supervise"
)

// reading is a reading of the file of models that is being put into effect.
type reading struct {
	wanted *config.Models
	cancel context.CancelFunc
	done   chan struct{}
}

// readAgain reads the file of models: new ones come, missing ones leave, changed ones are replaced, and the rest stays
// as it is. A file with a mistake changes nothing. last is the reading before: if this one is another, it takes its
// place, because a setup may take forever.
func (f *Server) readAgain(last *reading) *reading {
	f.auth.Reload()
	wanted, err := f.read.File()
	if err != nil {
		f.log.Error("the file of models has a mistake: nothing changes", "error", err)
		return last
	}
	f.log.Info("the file of models is read again", "asked_by", "SIGHUP", "models", len(wanted.List))
	if last != nil {
		select {
		case <-last.done:
		default:
			if reflect.DeepEqual(last.wanted, wanted) {
				return last
			}
		}
		last.cancel()
		<-last.done
	}
	r := &reading{wanted: wanted, done: make(chan struct{})}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(r.done)
		defer r.cancel()
		f.serveWanted(ctx, wanted)
	}()
	return r
}

// serveWanted serves what the file of models says. If ctx ends first, nothing changes.
func (f *Server) serveWanted(ctx context.Context, wanted *config.Models) {
	f.host.SetLimit(int64(wanted.Memory))
	before := f.models.all()
	var list []*servedModel
	for _, of := range wanted.List {
		if ctx.Err() != nil {
			break
		}
		if m := f.serveAgain(ctx, named(before, of.Name), of); m != nil {
			list = append(list, m)
		}
	}
	f.models.changing.Lock()
	defer f.models.changing.Unlock()
	now := f.models.all() // SageMaker may have added or removed some meanwhile
	if ctx.Err() != nil {
		for _, m := range list {
			if !slices.Contains(before, m) {
				go f.retire(m)
			}
		}
		return
	}
	list = slices.DeleteFunc(list, func(m *servedModel) bool {
		return slices.Contains(before, m) && !slices.Contains(now, m)
	})
	for _, m := range now {
		if m.added && named(list, m.Name) == nil {
			list = append(list, m)
		}
	}
	if len(list) == 0 && len(wanted.List) > 0 { // the server stops
		return
	}
	f.models.mirrors = wanted.Mirrors
	f.show(list, wanted.Traffic)
	for _, old := range now {
		if !slices.Contains(list, old) {
			f.models.add(old)
			go f.retireServed(old)
		}
	}
}

// serveAgain returns the model as it is to be served: the old one where it is so already, or where the new one cannot
// be served, or nil if neither is there.
func (f *Server) serveAgain(ctx context.Context, old *servedModel, of config.Named) *servedModel {
	if old != nil && reflect.DeepEqual(old.of, of) {
		return old
	}
	m, err := f.succeed(ctx, old, of)
	switch {
	case err != nil && ctx.Err() != nil:
		return old
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

// named returns the model of that name, or nil.
func named(list []*servedModel, name string) *servedModel {
	i := slices.IndexFunc(list, func(m *servedModel) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return list[i]
}

// succeed begins to serve a model, in the place of an old one or nil. If the old one is loaded, the new one is ready
// when succeed returns; with --reload-strategy stop-first it is loaded once the old one has ended.
func (f *Server) succeed(ctx context.Context, old *servedModel, of config.Named) (*servedModel, error) {
	m, err := f.newModel(of)
	if err != nil {
		return nil, err
	}
	loaded := old != nil && old.isReady()
	if old != nil && of.Settings.Fleet.Renewal == string(supervise.StopFirst) {
		m.before = old
		m.Lifecycle.Follow(old.ended) // requests wait for that in the new one: in the old one they would load it again
		loaded = false
	}
	m.beginLate()
	if loaded {
		if err := m.Lifecycle.Load(ctx, false); err != nil {
			go f.retire(m)
			return nil, err
		}
	}
	return m, nil
}

// newModel makes a model that has no processes, and that no request finds yet.
func (f *Server) newModel(of config.Named) (*servedModel, error) {
	f.models.changing.Lock()
	defer f.models.changing.Unlock()
	m := &servedModel{server: f, of: of}
	m.makeMetrics()
	if err := m.host(true); err != nil {
		return nil, err
	}
	if err := m.joinLate(); err != nil {
		m.close()
		return nil, err
	}
	if !f.models.add(m) {
		m.close()
		return nil, modelhost.ErrClosed
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

// retireServed ends a model that requests found, and lets the one load that takes its place, once its own predecessor
// has ended.
func (f *Server) retireServed(m *servedModel) {
	if !f.retire(m) {
		return
	}
	if m.before != nil {
		<-m.before.ended
		m.before = nil
	}
	close(m.ended)
}

// retire ends a model that requests find no more, once its predictions have ended; false means the server stops, and
// ends it.
func (f *Server) retire(m *servedModel) bool {
	m.Service.Drain()
	m.drainQueue()
	m.closeDashboard()
	if err := m.Lifecycle.Unload(context.Background(), true); err != nil {
		return false
	}
	m.close()
	m.Service.Close()
	f.models.remove(m)
	return true
}

// successor returns the model that requests find in the place of this one, which leaves; nil means there is none.
func (m *servedModel) successor() *servedModel {
	if !m.Service.Draining() {
		return nil
	}
	if next := named(m.server.models.all(), m.Name); next != m {
		return next
	}
	return nil
}

// isReady reports whether the model takes predictions.
func (m *servedModel) isReady() bool {
	state, _ := m.Lifecycle.State()
	return state == modelhost.Ready
}
