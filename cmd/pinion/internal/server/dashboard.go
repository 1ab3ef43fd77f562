package server

import (
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/cmd/internal/version"
	"pinion/httpd"
	"pinion/httpd/web/dashboard"
	"pinion/runtime/health"
	"pinion/runtime/logtext"
	"pinion/runtime/metrics"
	"pinion/runtime/webhook"
)

// newDashboard makes the live view, unless it is off.
func (m *servedModel) newDashboard() *dashboard.View {
	s := &m.server.s.Exposure
	if s.Dashboard.Off {
		return nil
	}
	o := dashboard.Options{
		Model: m.title(), Versions: map[string]string{"pinion": version.Pinion, "cog": version.Cog},
		TraceURL: s.Dashboard.TraceURL, Content: s.Dashboard.Content, Keep: m.of.Settings.ResultTTL,
		Memory:  m.server.budget,
		Figures: m.figures, Load: m.load, State: m.viewState, Overview: m.Service.Overview, Find: m.Service.Result,
		Locate:  m.Service.Locate,
		Summary: m.Service.Summary, Stack: m.Service.Stack, Search: m.Service.Search, Log: m.server.sink,
	}
	if s.MetricsPort < 0 { // else /docs is on another port
		o.Docs = "docs"
	}
	return dashboard.New(o)
}

// hasDashboard reports whether the live view is on the server's own port, or on the one for monitoring. The port for
// monitoring asks for no token, so with tokens the view stays on the server's own.
func (f *Server) hasDashboard(monitor bool) bool {
	return !f.s.Exposure.Dashboard.Off && monitor == (f.s.Exposure.MetricsPort >= 0 && f.auth.Tokens() == nil)
}

// dashboardAt returns the live view on that port, at the root or below /models; nil means it is not there.
func (m *servedModel) dashboardAt(atRoot, monitor bool) *httpd.Dashboard {
	if !m.server.hasDashboard(monitor) {
		return nil
	}
	d := &httpd.Dashboard{
		Page: m.view.Page(m.links(atRoot, "dashboard")), Data: m.view.Data(),
		Origins: m.server.s.Exposure.CORSOrigins,
	}
	if !monitor { // that port has no request that cancels either
		d.Actions = m.view.Actions()
	}
	return d
}

// rootDashboard returns the live view of the default model at the root.
func (f *Server) rootDashboard(monitor bool) *httpd.Dashboard {
	if !f.several {
		return f.models.first().dashboardAt(true, monitor)
	}
	if !f.hasDashboard(monitor) {
		return nil
	}
	d := &httpd.Dashboard{
		Page:    f.byFirst(func(m *servedModel) fasthttp.RequestHandler { return m.dashboardAt(true, monitor).Page }),
		Data:    map[string]fasthttp.RequestHandler{},
		Origins: f.s.Exposure.CORSOrigins,
	}
	paths := new(dashboard.View) // every view has the same
	for path := range paths.Data() {
		d.Data[path] = f.byFirst(func(m *servedModel) fasthttp.RequestHandler { return m.view.Data()[path] })
	}
	if monitor {
		return d
	}
	d.Actions = map[string]fasthttp.RequestHandler{}
	for path := range paths.Actions() {
		d.Actions[path] = f.byFirst(func(m *servedModel) fasthttp.RequestHandler { return m.view.Actions()[path] })
	}
	return d
}

// linkToDashboard returns the address of the live view as the page at /docs has it; "" means it is not on the same
// port.
func (m *servedModel) linkToDashboard() string {
	if !m.server.hasDashboard(false) {
		return ""
	}
	return "dashboard"
}

// figures returns the figures of the live view.
func (m *servedModel) figures() metrics.Figures {
	f := m.metrics.Figures()
	f.LostWebhooks = m.Webhooks.State().Losses
	return f
}

// closeDashboard ends the live view once no prediction is in flight, so that a stop is seen and does not wait for it.
func (m *servedModel) closeDashboard() {
	if m.view == nil {
		return
	}
	go func() {
		<-m.Service.Idle()
		m.view.Close()
	}()
}

// shownSetupLogs is how many bytes of the end of a setup's logs the live view shows.
const shownSetupLogs = 8 << 10

// viewState returns what the live view shows beside figures and predictions.
func (m *servedModel) viewState() dashboard.State {
	h, budget, load := m.Service.Glance(), m.server.budget.Stats(), m.Pool.Load()
	out := dashboard.State{
		Status: string(h.Status), ModelError: h.ModelError, Stopping: m.server.stop.begun.Load(),
		Setup: setupState(h.Setup),
		Slots: load.Slots, Capacity: m.Pool.Queue(), Workers: make([]dashboard.Worker, 0, len(h.Workers)),
		Python: h.Version["python"],
		Memory: dashboard.Memory{Used: budget.Used, Limit: budget.Limit}, Webhooks: m.webhookState(),
	}
	if m.server.several {
		for _, other := range m.server.models.all() {
			out.Models = append(out.Models, other.overview())
		}
	}
	for _, w := range h.Workers {
		out.Workers = append(out.Workers, workerState(w))
	}
	for _, g := range gpusOf(m.server.gpus.Samples()) {
		out.GPUs = append(out.GPUs, dashboard.GPU{Name: g.Name, MemoryUsed: g.MemoryUsed, Utilization: g.Utilization})
	}
	return out
}

// setupState returns a setup as the view shows it; of one that failed it shows all logs.
func setupState(s *health.Setup) dashboard.Setup {
	if s == nil {
		return dashboard.Setup{Status: health.SetupStarting}
	}
	out := dashboard.Setup{Status: s.Status, Started: dashboard.Milliseconds(s.StartedAt.Time), Logs: s.Logs}
	if s.Status != health.SetupFailed {
		out.Logs = logtext.Tail(s.Logs, shownSetupLogs)
	}
	if !s.CompletedAt.IsZero() {
		out.Seconds = s.CompletedAt.Sub(s.StartedAt.Time).Round(time.Millisecond).Seconds()
	}
	return out
}

// overview returns the model among all of the server.
func (m *servedModel) overview() dashboard.Model {
	state, _ := m.Lifecycle.State()
	load, hooks := m.load(), m.Webhooks.State()
	return dashboard.Model{
		Name: m.Name, State: state.String(), Running: load.InFlight - load.Queued, Queued: load.Queued, Slots: load.Slots,
		Pending: hooks.Pending, Retrying: hooks.Retrying, Lost: hooks.Losses,
	}
}

func (m *servedModel) webhookState() dashboard.Webhooks {
	s := m.Webhooks.State()
	text := func(lost *webhook.Failure) string {
		if lost == nil {
			return ""
		}
		return lost.Receiver + ": " + lost.Error
	}
	return dashboard.Webhooks{Pending: s.Pending, Retrying: s.Retrying, Retried: text(s.Retried), Lost: text(s.Lost)}
}

// workerState returns a worker as the view shows it. How it ended is worded for the prediction that it had, which the
// view does not name.
func workerState(w health.Worker) dashboard.Worker {
	var ranks []dashboard.Rank
	for _, r := range w.Ranks {
		ranks = append(ranks, dashboard.Rank{PID: r.PID, Memory: r.MemoryBytes, Device: r.Device})
	}
	return dashboard.Worker{
		Ranks: ranks,
		State: w.State, PID: w.PID, Busy: w.Busy, BusySince: dashboard.Milliseconds(w.BusySince.Time), Served: w.Served,
		Restarts: w.Restarts, LastExit: strings.Replace(w.LastExit, "this prediction", "a prediction", 1),
		ExitedAt: dashboard.Milliseconds(w.ExitedAt.Time), Memory: w.MemoryBytes, Device: w.Device, Successor: w.Successor,
	}
}
