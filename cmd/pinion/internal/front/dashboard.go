package front

import (
	"strings"
	"time"

	"pinion/cmd/pinion/internal/version"
	"pinion/httpd"
	"pinion/httpd/dashboard"
	"pinion/runtime/predict"
	"pinion/runtime/supervise"
	"pinion/runtime/webhook"
)

// newDashboard makes the live view, unless it is off.
func (f *Server) newDashboard() *dashboard.View {
	s := &f.s.Exposure
	if s.Dashboard.Off {
		return nil
	}
	o := dashboard.Options{
		Model: f.model.Title(), Versions: map[string]string{"pinion": version.Pinion, "cog": version.Cog},
		TraceURL: s.Dashboard.TraceURL, Content: s.Dashboard.Content, Keep: f.s.ResultTTL,
		Figures: f.metrics.Figures, Load: f.load, State: f.state, Overview: f.svc.Overview, Find: f.find, Summary: f.svc.Summary,
	}
	if s.MetricsPort < 0 { // else /docs is on another port
		o.Docs = "docs"
	}
	return dashboard.New(o)
}

// routesOfDashboard are those of the live view on the server's own port, or on the one for monitoring; nil: it is not there. The port
// for monitoring asks for no token, so with tokens the view stays on the server's own.
func (f *Server) routesOfDashboard(monitor bool) *httpd.Dashboard {
	if f.view == nil || monitor != (f.s.Exposure.MetricsPort >= 0 && f.auth.Tokens() == nil) {
		return nil
	}
	return &httpd.Dashboard{Page: f.view.Page(), Data: f.view.Data(), Origins: f.s.Exposure.CORSOrigins}
}

// linkToDashboard is the address of the live view as the page at /docs has it; "": it is not on the same port.
func (f *Server) linkToDashboard() string {
	if f.routesOfDashboard(false) == nil {
		return ""
	}
	return "dashboard"
}

// closeDashboard ends the live view once no prediction is in flight, so that a stop is seen and does not wait for it.
func (f *Server) closeDashboard() {
	if f.view == nil {
		return
	}
	f.stopping.Store(true)
	go func() {
		<-f.svc.Idle()
		f.view.Close()
	}()
}

// find is for the live view.
func (f *Server) find(kind predict.Kind, id string) (rec predict.Record, release func(), ok bool) {
	p, rec, ok := f.svc.Result(kind, id)
	if !ok {
		return rec, nil, false
	}
	return rec, p.Release, true
}

// state is what the live view shows beside figures and predictions.
func (f *Server) state() dashboard.State {
	h, budget, load := f.svc.Glance(), f.budget.Stats(), f.pool.Load()
	out := dashboard.State{
		Status: h.Status, ModelError: h.ModelError, Stopping: f.stopping.Load(),
		Setup: dashboard.Setup{Status: setupStatus(h)}, Slots: load.Slots, Capacity: f.pool.Queue(), Python: h.Version["python"],
		Memory: dashboard.Memory{Used: budget.Used, Limit: budget.Limit}, Webhooks: f.webhookState(),
	}
	if !h.Setup.Completed.IsZero() {
		out.Setup.Seconds = h.Setup.Completed.Sub(h.Setup.Started).Round(time.Millisecond).Seconds()
	}
	if h.Setup.Failed {
		out.Setup.Logs = h.Setup.Logs
	}
	for _, w := range h.Workers {
		out.Workers = append(out.Workers, workerState(w))
	}
	for _, g := range gpusOf(f.gpus.Samples()) {
		out.GPUs = append(out.GPUs, dashboard.GPU{Name: g.Name, MemoryUsed: g.MemoryUsed, Utilization: g.Utilization})
	}
	return out
}

func (f *Server) webhookState() dashboard.Webhooks {
	s := f.webhooks.State()
	text := func(f *webhook.Failure) string {
		if f == nil {
			return ""
		}
		return f.Receiver + ": " + f.Error
	}
	return dashboard.Webhooks{Pending: s.Pending, Retrying: s.Retrying, Retried: text(s.Retried), Lost: text(s.Lost)}
}

// workerState is a worker as the view shows it. How it ended is worded for the prediction that it had, which the view does not name.
func workerState(w supervise.Report) dashboard.Worker {
	out := dashboard.Worker{
		State: w.State.String(), PID: w.PID, Busy: w.Busy, BusySince: dashboard.Milliseconds(w.Since), Served: w.Served,
		Restarts: w.Restarts, LastExit: strings.Replace(w.LastExit, "this prediction", "a prediction", 1), ExitedAt: dashboard.Milliseconds(w.ExitedAt), Memory: w.Memory, Device: w.Device,
	}
	if w.Successor != nil {
		out.Successor = w.Successor.String()
	}
	return out
}
