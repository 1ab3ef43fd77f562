package server

import (
	"net/url"
	"sync"
	"time"

	"pinion/httpd"
	"pinion/httpd/web/dashboard"
)

// dashboard returns the live view of the fleet.
func (g *gateway) dashboard() *httpd.Dashboard {
	view := dashboard.NewFleet(g.fleetState)
	return &httpd.Dashboard{Page: view.Page(), Data: view.Data()}
}

// fleetState returns what the view shows. All queues are asked at once.
func (g *gateway) fleetState() dashboard.Fleet {
	models := g.all()
	state := dashboard.Fleet{Models: make([]dashboard.FleetModel, len(models))}
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

func (m *gatewayModel) fleetModel() dashboard.FleetModel {
	out := dashboard.FleetModel{
		Name: m.name, Docs: "models/" + url.PathEscape(m.name) + "/docs", Servers: []dashboard.FleetServer{},
	}
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
		out.Servers = append(out.Servers, dashboard.FleetServer{
			Name: s.Name, Slots: s.Slots, Free: s.Free, Running: s.Running, Draining: s.Draining, Version: s.Version,
			Versions: s.Versions,
		})
	}
	return out
}
