package server

import (
	"net/url"
	"sync"
	"time"

	"pinion/httpd"
	"pinion/httpd/web/fleet"
)

// dashboard returns the live view of the fleet.
func (g *gateway) dashboard() *httpd.Dashboard {
	view := fleet.New(g.fleetState)
	return &httpd.Dashboard{Page: view.Page(), Data: view.Data()}
}

// fleetState returns what the view shows. All queues are asked at once.
func (g *gateway) fleetState() fleet.State {
	models := g.all()
	state := fleet.State{Models: make([]fleet.Model, len(models))}
	if err := g.finder.ready(); err != nil {
		state.Error = err.Error()
	}
	var wg sync.WaitGroup
	for i, m := range models {
		wg.Go(func() { state.Models[i] = m.fleetModel() })
	}
	wg.Wait()
	return state
}

func (m *gatewayModel) fleetModel() fleet.Model {
	out := fleet.Model{Name: m.name, Docs: "models/" + url.PathEscape(m.name) + "/docs", Servers: []fleet.Server{}}
	summary, servers, err := m.member.Overview()
	if err != nil {
		out.Error = err.Error()
	}
	out.Waiting, out.Stored, out.Capacity, out.Dead = summary.Waiting, summary.Stored, summary.Capacity, summary.Dead
	if !summary.Oldest.IsZero() {
		waits := max(0, time.Since(summary.Oldest).Seconds())
		out.OldestWaiting = &waits
	}
	for _, s := range servers {
		out.Running += s.Running
		out.Servers = append(out.Servers, fleet.Server{
			Name: s.Name, Slots: s.Slots, Free: s.Free, Running: s.Running, Draining: s.Draining, Version: s.Version,
			Versions: s.Versions,
		})
	}
	return out
}
