package server

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"pinion/cmd/pinion/internal/config"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/runtime/health"
	"pinion/runtime/predict"
)

// versions are a model of which the server has several versions: the route of requests for its name, which go to them by
// their shares.
type versions struct {
	server *Server
	name   string // the model's, without a version
	route  atomic.Pointer[route]
	turn   atomic.Uint64 // of the next request in route.order
}

var _ place.Route = (*versions)(nil)

// route is where the requests for a model go. It is never changed.
type route struct {
	versions []*target
	primary  *target         // the version with the largest share, which also answers for the model itself
	known    *protocol.Model // to other protocols
	order    []*target       // whose turn it is: as many times as its share says
	mirror   *target         // nil means there is none
}

// split returns the model and the version of a name.
func (m *servedModel) split() (model, number string) {
	model, number, _ = config.SplitVersion(m.Name)
	return model, number
}

// pathName returns the model's name in paths: with its version if there are several.
func (m *servedModel) pathName() string {
	if m.server.models.versionsOf(m) == nil {
		return m.Name
	}
	return config.WithVersion(m.Name)
}

// route gives the models of the start the requests and jobs.
func (f *Server) route() error {
	if f.several {
		f.models.mirrors = f.s.Mirrors
		f.groupVersions(f.models.all(), f.s.Traffic)
	}
	f.routeJobs(f.models.all())
	return nil
}

// groupVersions finds the versions of the models, which have the shares that a file or a client gave them. of has those
// of a file; nil means it has none. It is called with changing held, or before requests come.
func (f *Server) groupVersions(list []*servedModel, of config.Traffic) {
	members, before := map[string][]*servedModel{}, f.models.versioned()
	several := map[string]bool{}
	for _, m := range list {
		name, _, own := config.SplitVersion(m.Name)
		members[name] = append(members[name], m)
		several[name] = several[name] || own
	}
	grouped := map[string]*versions{}
	for name := range several {
		if !several[name] {
			continue
		}
		v := before[name]
		if v == nil {
			v = &versions{server: f, name: name}
		}
		v.regroup(members[name], of, f.models.mirrors)
		grouped[name] = v
	}
	f.models.grouped.Store(&grouped)
}

// regroup makes these models the versions. Their shares are those of a file, or else as before, or else the first one
// serves.
func (v *versions) regroup(members []*servedModel, of config.Traffic, mirrors []string) {
	shares, old := config.Traffic{}, v.route.Load()
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = config.WithVersion(m.Name)
		if share, ok := of[names[i]]; ok {
			shares[names[i]] = share
		}
	}
	mirror := ""
	for _, name := range mirrors {
		if slices.Contains(names, name) {
			mirror = name
		}
	}
	if len(shares) == 0 && old != nil {
		shares = old.shares()
	}
	if len(shares) == 0 || config.CheckTraffic(shares, names) != nil {
		shares = config.Traffic{names[0]: 100}
	}
	v.route.Store(v.newRoute(members, shares, mirror))
}

func (v *versions) newRoute(members []*servedModel, shares config.Traffic, mirror string) *route {
	r := &route{}
	for _, m := range members {
		_, number := m.split()
		version := newTarget(m, v.name, number)
		version.of, version.share = v, shares[config.WithVersion(m.Name)]
		version.exact = newTarget(m, config.WithVersion(m.Name), number)
		if before := v.find(m); before != nil {
			version.mirrored = before.mirrored
		}
		r.versions = append(r.versions, version)
		if config.WithVersion(m.Name) == mirror {
			if version.mirrored == nil {
				version.mirrored = &mirrored{}
			}
			r.mirror = version
			m.mirrored.Store(version.mirrored)
		}
	}
	r.order = turns(r.versions)
	r.primary = slices.MaxFunc(r.versions, func(a, b *target) int { return a.share - b.share })
	r.known = protocol.NewModel(v.name, r.primary)
	first := r.primary.known
	r.known.Summary, r.known.Readme, r.known.ResultTTL = first.Summary, first.Readme, first.ResultTTL
	r.known.Choose, r.known.Versions = func() *protocol.Model { return v.choose(nil).known }, v.exact
	return r
}

// turns spreads the shares evenly over 100 turns.
func turns(list []*target) (order []*target) {
	credit := make([]int, len(list))
	for range 100 {
		next := 0
		for i, version := range list {
			credit[i] += version.share
			if credit[i] > credit[next] {
				next = i
			}
		}
		credit[next] -= 100
		order = append(order, list[next])
	}
	return order
}

// shift gives the versions the shares that a client asks for. Those that it does not name get none.
func (v *versions) shift(shares map[string]int) error {
	asked := config.Traffic{}
	for name, share := range shares {
		name = config.WithVersion(name)
		if _, twice := asked[name]; twice {
			return fmt.Errorf("%s is given twice", name)
		}
		asked[name] = share
	}
	v.server.models.changing.Lock()
	defer v.server.models.changing.Unlock()
	r := v.route.Load()
	var members []*servedModel
	var names []string
	for _, version := range r.versions {
		members, names = append(members, version.servedModel), append(names, version.Name)
		asked[config.WithVersion(version.Name)] += 0 // one that is not named gets nothing
	}
	if err := config.CheckTraffic(asked, names); err != nil {
		return err
	}
	for _, m := range members {
		if err := m.target.accepts(); err != nil && asked[config.WithVersion(m.Name)] > 0 {
			return &predict.NotReadyError{Reason: config.WithVersion(m.Name) + " takes no predictions: " + err.Error()}
		}
	}
	v.route.Store(v.newRoute(members, asked, r.mirrorName()))
	v.server.routeJobs(v.server.models.all())
	v.server.log.Info("traffic shifted", "model", v.name, "traffic", v.route.Load().shares())
	return nil
}

func (r *route) mirrorName() string {
	if r.mirror == nil {
		return ""
	}
	return config.WithVersion(r.mirror.Name)
}

// shares returns the share of each version.
func (r *route) shares() config.Traffic {
	shares := config.Traffic{}
	for _, version := range r.versions {
		shares[config.WithVersion(version.Name)] = version.share
	}
	return shares
}

// find returns a model as one of the versions, or nil.
func (v *versions) find(m *servedModel) *target {
	r := v.route.Load()
	if r == nil {
		return nil
	}
	i := slices.IndexFunc(r.versions, func(version *target) bool { return version.servedModel == m })
	if i < 0 {
		return nil
	}
	return r.versions[i]
}

// choose returns the version whose turn it is; if that takes no predictions, the next one with a share that does. Those
// in without are not chosen, if there are others.
func (v *versions) choose(without []*target) *target {
	r := v.route.Load()
	turn := int(v.turn.Add(1) % uint64(len(r.order)))
	for i := range r.order {
		version := r.order[(turn+i)%len(r.order)]
		if !slices.Contains(without, version) && version.accepts() == nil {
			return version
		}
	}
	return r.order[turn]
}

// exact returns the versions for requests that name them.
func (v *versions) exact() (list []*protocol.Model) {
	for _, version := range v.route.Load().versions {
		list = append(list, version.exact.known)
	}
	return list
}

// Model implements place.Route: the version with the largest share answers for the model.
func (v *versions) Model() place.Service { return v.route.Load().primary }

// all returns the versions, and those that leave and end their predictions.
func (v *versions) all() (list []*servedModel) {
	for _, m := range v.server.models.every() {
		if name, _ := m.split(); name == v.name {
			list = append(list, m)
		}
	}
	return list
}

// Holder implements place.Route.
func (v *versions) Holder(kind predict.Kind, id string) place.Service {
	if m := v.inFlight(kind, id); m != nil {
		return m.target
	}
	for _, m := range v.all() {
		if p, _, ok := m.Service.Result(kind, id); ok {
			p.Release()
			return m.target
		}
	}
	return v.Model()
}

// inFlight returns the version that has a prediction of that id in flight, or nil.
func (v *versions) inFlight(kind predict.Kind, id string) *servedModel {
	if id == "" {
		return nil
	}
	for _, m := range v.all() {
		if m.Service.Find(kind, id) != nil {
			return m
		}
	}
	return nil
}

// Assign implements place.Route.
func (v *versions) Assign(req predict.Request) (p *predict.Prediction, err error) {
	if m := v.inFlight(req.Kind, predict.FunctionID(req.Function, req.ID)); m != nil { // the request joins, or is refused
		_, req.Version = m.split()
		return m.target.create(&req)
	}
	return v.choose(nil).Assign(req)
}

// Ready says why no version takes predictions.
func (v *versions) Ready() error { return v.any((*target).accepts) }

// Defunct implements place.Route.
func (v *versions) Defunct() error { return v.any((*target).Defunct) }

// any asks the versions that have a share until one has no error.
func (v *versions) any(ask func(*target) error) (err error) {
	for _, version := range v.route.Load().versions {
		if version.share == 0 {
			continue
		}
		if err = ask(version); err == nil {
			return nil
		}
	}
	return err
}

// Health returns the health of the version with the largest share, and the status of each version.
func (v *versions) Health(ctx context.Context) health.Document {
	r := v.route.Load()
	h := r.primary.Health(ctx)
	h.Models = map[string]health.Status{}
	for _, version := range r.versions {
		h.Models[version.exact.known.Name] = version.Glance().Status
	}
	return h
}
