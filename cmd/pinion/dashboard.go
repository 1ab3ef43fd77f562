package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/option"
	"pinion/cmd/pinion/internal/version"
	"pinion/httpd"
	"pinion/httpd/dashboard"
	"pinion/runtime/predict"
	"pinion/runtime/supervise"
	"pinion/runtime/webhook"
)

// dashboardSettings are those of the live view.
type dashboardSettings struct {
	off, content bool
	traceURL     string
}

// traceMark stands for a trace's id in --dashboard-trace-url.
const traceMark = "{trace_id}"

func (s *dashboardSettings) bindFlags(f *pflag.FlagSet) {
	f.BoolVar(&s.off, "no-dashboard", false, "do not serve the live view at /dashboard (PINION_NO_DASHBOARD)")
	f.BoolVar(&s.content, "dashboard-content", false, "show inputs and outputs of predictions in the live view (PINION_DASHBOARD_CONTENT)")
	f.StringVar(&s.traceURL, "dashboard-trace-url", "", "address of a trace, with "+traceMark+" for its id, to which the live view links (PINION_DASHBOARD_TRACE_URL; default: ids without a link)")
}

func (s *dashboardSettings) variables() []ourVariable {
	return []ourVariable{
		{"no-dashboard", "PINION_NO_DASHBOARD", func(v string) error { return option.Bool(&s.off, v) }},
		{"dashboard-content", "PINION_DASHBOARD_CONTENT", func(v string) error { return option.Bool(&s.content, v) }},
		{"dashboard-trace-url", "PINION_DASHBOARD_TRACE_URL", func(v string) error { s.traceURL = v; return nil }},
	}
}

func (s *dashboardSettings) check() error {
	if s.traceURL != "" && (!isHTTP(s.traceURL) || !strings.Contains(s.traceURL, traceMark)) {
		return fmt.Errorf("--dashboard-trace-url %q: it is an http or https URL with %s in it, as https://tempo.example.com/trace/%s", s.traceURL, traceMark, traceMark)
	}
	return nil
}

// shownSummaries is how many ended predictions are kept in short for the live view; see service.Options.
func (s *dashboardSettings) shownSummaries() int {
	if s.off {
		return 0
	}
	return 100
}

// newDashboard makes the live view, unless it is off.
func (f *front) newDashboard() *dashboard.View {
	s := &f.s.exposure
	if s.dashboard.off {
		return nil
	}
	o := dashboard.Options{
		Model: f.model.Title(), Versions: map[string]string{"pinion": version.Pinion, "cog": version.Cog},
		TraceURL: s.dashboard.traceURL, Content: s.dashboard.content, Keep: f.s.resultTTL,
		Figures: f.metrics.Figures, Load: f.load, State: f.state, Overview: f.svc.Overview, Find: f.find, Summary: f.svc.Summary,
	}
	if s.metricsPort < 0 { // else /docs is on another port
		o.Docs = "docs"
	}
	return dashboard.New(o)
}

// routesOfDashboard are those of the live view on the server's own port, or on the one for monitoring; nil: it is not there. The port
// for monitoring asks for no token, so with tokens the view stays on the server's own.
func (f *front) routesOfDashboard(monitor bool) *httpd.Dashboard {
	if f.view == nil || monitor != (f.s.exposure.metricsPort >= 0 && f.auth.Tokens() == nil) {
		return nil
	}
	return &httpd.Dashboard{Page: f.view.Page(), Data: f.view.Data(), Origins: f.s.exposure.corsOrigins}
}

// linkToDashboard is the address of the live view as the page at /docs has it; "": it is not on the same port.
func (f *front) linkToDashboard() string {
	if f.routesOfDashboard(false) == nil {
		return ""
	}
	return "dashboard"
}

// closeDashboard ends the live view once no prediction is in flight, so that a stop is seen and does not wait for it.
func (f *front) closeDashboard() {
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
func (f *front) find(kind predict.Kind, id string) (rec predict.Record, release func(), ok bool) {
	p, rec, ok := f.svc.Result(kind, id)
	if !ok {
		return rec, nil, false
	}
	return rec, p.Release, true
}

// state is what the live view shows beside figures and predictions.
func (f *front) state() dashboard.State {
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

func (f *front) webhookState() dashboard.Webhooks {
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
