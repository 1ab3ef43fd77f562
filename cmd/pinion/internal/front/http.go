package front

import (
	"cmp"

	"github.com/valyala/fasthttp"

	"pinion/cmd/pinion/internal/settings"
	"pinion/cmd/pinion/internal/tokenfile"
	"pinion/cmd/pinion/internal/version"
	"pinion/httpd"
	"pinion/httpd/page"
	"pinion/httpd/protocol"
	"pinion/httpd/webpage"
)

// openTokens reads the tokens that clients need, where they need one.
func (f *Server) openTokens() (err error) {
	if f.s.Exposure.AuthFile != "" {
		f.auth, err = tokenfile.Open(f.s.Exposure.AuthFile, f.log)
	}
	return err
}

// makeHTTP makes the HTTP server.
func (f *Server) makeHTTP() error {
	s, first := f.s, f.models[0]
	public, err := s.Exposure.Public()
	if err != nil {
		return err
	}
	lines, probes := s.Access()
	var known []*protocol.Model
	for _, m := range f.models {
		m.view = m.newDashboard()
		known = append(known, protocol.NewModel(m.name, m.backend()))
	}
	f.endpoints.models = protocol.Several(known)
	f.endpoints.http = httpd.New(f.root(), httpd.Options{
		Protocols: s.Protocols.List(f.endpoints.models), Models: f.httpModels(false),
		MaxBody: s.MaxBody, Logger: f.log, CogVersion: version.Cog, ModelName: first.title(), CORSOrigins: s.Exposure.CORSOrigins,
		Docs: first.page(true), Dashboard: first.dashboardAt(true, false),
		Metrics: f.mainMetrics(), OnRequest: f.metrics.Request, OnGeneration: f.recordGeneration, Tracer: f.telemetry.Tracer(), Reload: first.reloader(),
		Tokens: f.auth.Tokens(), Public: public,
		AccessLines: lines, AccessProbes: probes, AccessText: s.Log.Console(), Memory: f.budget,
		Spool:      f.files.SpoolToDisk,
		NoShutdown: s.Exposure.NoShutdown, ShutdownFromAny: s.Exposure.ShutdownFrom == settings.FromAny,
	})
	return nil
}

// httpModels are the models below /models, on the server's own port or on the one for monitoring. A single model whose name cannot
// be in a path has no routes there.
func (f *Server) httpModels(monitor bool) (models []httpd.Model) {
	for _, m := range f.models {
		if !settings.IsModelName(m.name) {
			return nil
		}
		models = append(models, httpd.Model{
			Name: m.name, Service: m.backend(), Title: m.title(), Docs: m.page(false), Dashboard: m.dashboardAt(false, monitor),
			Reload: m.reloader(), OnRequest: m.metrics.Request, Entry: m.entry,
		})
	}
	return models
}

// title is the model's name for people.
func (m *servedModel) title() string {
	if m.server.several() {
		return m.name
	}
	return m.source.found.Title()
}

// page answers with the page to try the model, at the root or below /models.
func (m *servedModel) page(atRoot bool) fasthttp.RequestHandler {
	o := page.Options{
		Model: m.title(), Dashboard: m.linkToDashboard(), OpenAI: m.server.s.Protocols.OpenAIName(m.name), Models: m.links(atRoot, "docs"),
	}
	if !atRoot {
		o.Root = "/../.."
	}
	return page.Handler(o)
}

// links lead from a page of the model to that of each model; nil: there is one model.
func (m *servedModel) links(atRoot bool, to string) (links []webpage.Link) {
	if !m.server.several() {
		return nil
	}
	above := "../"
	if atRoot {
		above = "models/"
	}
	for _, other := range m.server.models {
		links = append(links, webpage.Link{Text: other.name, Address: above + other.name + "/" + to, Current: other == m})
	}
	return links
}

// entry is what GET /models says of the model.
func (m *servedModel) entry() httpd.ModelEntry {
	h := m.svc.Glance()
	e := httpd.ModelEntry{
		State: m.state(h.Status), Load: loadAtStartup, Slots: m.pool.Load().Slots,
		Queue: httpd.Queue{Length: h.Queued, Capacity: h.QueueSize}, ModelURL: m.source.found.Dir,
	}
	for _, w := range h.Workers {
		e.MemoryBytes += w.Memory
	}
	switch e.State {
	case stateFailed:
		e.Error = cmp.Or(failure(m.workers.all[0].Status()).What, "the setup failed")
	case stateDefunct:
		if err := m.svc.Defunct(); err != nil {
			e.Error = err.Error()
		}
	}
	return e
}

// loadAtStartup: the model is loaded when the server starts.
const loadAtStartup = "startup"

// The states of a model in GET /models.
const (
	stateLoading   = "loading"
	stateReady     = "ready"
	stateUnloading = "unloading"
	stateFailed    = "failed"
	stateDefunct   = "defunct"
)

// state is the model's state, of which the status of its health is known.
func (m *servedModel) state(status string) string {
	switch {
	case m.svc.Draining():
		return stateUnloading
	case status == "SETUP_FAILED":
		return stateFailed
	case status == "DEFUNCT":
		return stateDefunct
	case status == "STARTING", status == "UNKNOWN":
		return stateLoading
	default:
		return stateReady
	}
}
