package server

import (
	"context"
	"errors"
	"slices"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/modelhost"
	"pinion/httpd/instances"
	"pinion/httpd/protocol"
)

// repository is the models that SageMaker adds to those of the start.
type repository struct{ server *Server }

// Loaded implements instances.Repository.
func (r repository) Loaded() (loaded []instances.LoadedModel) {
	for _, m := range r.server.models.all() {
		if m.isReady() {
			loaded = append(loaded, instances.LoadedModel{Name: m.Name, URL: m.of.Found.Dir})
		}
	}
	return loaded
}

// Ready implements instances.Repository: a server whose models are all unloaded waits for others.
func (r repository) Ready() error {
	err := r.server.models.ready()
	if err == nil || r.server.stop.begun.Load() {
		return err
	}
	for _, m := range r.server.models.all() {
		state, _ := m.Lifecycle.State()
		if m.Lifecycle.FirstLoadPending() || state != modelhost.Unloaded && state != modelhost.Unloading {
			return err
		}
	}
	return nil
}

// Add implements instances.Repository. A model of that name that is not loaded is loaded again, or gives its place to
// that of another folder.
func (r repository) Add(name, folder string) *protocol.Error {
	f := r.server
	if old := named(f.models.all(), name); old != nil {
		state, _ := old.Lifecycle.State()
		switch {
		case state == modelhost.Ready || state == modelhost.Loading:
			return protocol.Errorf(protocol.Conflict, "model %q is loaded already", name)
		case old.of.Found.Dir == folder:
			return old.loadError(old.Lifecycle.Load(context.Background(), true))
		}
		f.remove(old)
	}
	m, err := f.reserve(name, folder)
	if err != nil {
		return err
	}
	m.Log.Info("serving", "folder", folder, "asked_by", "a client")
	if err := m.loadError(m.Lifecycle.Load(context.Background(), true)); err != nil {
		f.retire(m)
		return err
	}
	f.models.changing.Lock()
	defer f.models.changing.Unlock()
	if named(f.models.all(), name) != nil { // the file of models was read again meanwhile, and names it
		go f.retire(m)
		return protocol.Errorf(protocol.Conflict, "model %q is loaded already", name)
	}
	f.show(append(slices.Clone(f.models.all()), m), nil)
	return nil
}

// reserve makes a model that is not loaded, and that no request finds yet.
func (f *Server) reserve(name, folder string) (*servedModel, *protocol.Error) {
	of, err := f.read.Folder(name, folder)
	if err != nil {
		return nil, protocol.Errorf(protocol.BadInput, "%v", err)
	}
	f.models.changing.Lock()
	defer f.models.changing.Unlock()
	if named(f.models.every(), name) != nil {
		return nil, protocol.Errorf(protocol.Conflict, "model %q is being loaded or unloaded", name)
	}
	beside := []config.Named{of}
	for _, m := range f.models.every() {
		beside = append(beside, m.of)
	}
	if err := f.s.Protocols.CheckTools(beside); err != nil {
		return nil, protocol.Errorf(protocol.Conflict, "%v", err)
	}
	m := &servedModel{server: f, of: of, added: true}
	m.makeMetrics()
	if err := m.host(true); err != nil {
		return nil, protocol.Errorf(protocol.BadInput, "%v", err)
	}
	if err := m.joinLate(); err != nil {
		m.close()
		return nil, protocol.Errorf(protocol.Failed, "%v", err)
	}
	if !f.models.add(m) {
		m.close()
		return nil, protocol.Errorf(protocol.NotReady, "%v", modelhost.ErrClosed)
	}
	m.beginLate()
	return m, nil
}

// loadError says why a model could not be loaded.
func (m *servedModel) loadError(err error) *protocol.Error {
	var full *modelhost.NoRoomError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &full), m.OutOfMemory():
		return protocol.Errorf(protocol.NoMemory, "model %q is not loaded: %v", m.Name, err)
	case errors.Is(err, modelhost.ErrClosed):
		return protocol.Errorf(protocol.NotReady, "model %q is not loaded: %v", m.Name, err)
	}
	return protocol.Errorf(protocol.Failed, "model %q is not loaded: %v", m.Name, err)
}

// Remove implements instances.Repository. A model of the start stays there, unloaded.
func (r repository) Remove(name string) *protocol.Error {
	m := named(r.server.models.all(), name)
	if m == nil || !m.isReady() {
		return instances.NotLoaded(name, r.Loaded())
	}
	if m.added {
		if !r.server.remove(m) {
			return protocol.Errorf(protocol.Unknown, "model %.100q is not loaded", name)
		}
		return nil
	}
	if err := m.Lifecycle.Unload(context.Background(), true); err != nil {
		return protocol.Errorf(protocol.NotReady, "%v", err)
	}
	return nil
}

// remove ends a model, and returns once its processes are gone, or false if another client ends it.
func (f *Server) remove(m *servedModel) bool {
	f.models.changing.Lock()
	left := slices.DeleteFunc(slices.Clone(f.models.all()), func(other *servedModel) bool { return other == m })
	found := len(left) < len(f.models.all())
	if found {
		f.models.add(m)
		f.show(left, nil)
	}
	f.models.changing.Unlock()
	if found {
		f.retireServed(m)
	}
	return found
}
