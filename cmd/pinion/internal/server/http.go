package server

import (
	"cmp"
	"net/url"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/modelhost"
	"pinion/cmd/pinion/internal/ports"
	"pinion/httpd"
	"pinion/httpd/mcp"
	"pinion/httpd/protocol"
	"pinion/httpd/web"
)

// openTokens reads the tokens that clients need, where they need one, and the server's certificate.
func (f *Server) openTokens() (err error) {
	if f.certificate, err = ports.OpenCertificate(f.s.Exposure.TLS, f.log); err != nil {
		return err
	}
	if f.s.Exposure.AuthFile != "" {
		f.auth, err = ports.OpenTokenFile(f.s.Exposure.AuthFile, f.log)
	}
	return err
}

func (f *Server) makeHTTP() error {
	s := f.s
	lines, probes := s.Access()
	if f.several {
		f.endpoints.models = protocol.Several(f.models.knownModels)
	} else {
		f.endpoints.models = protocol.Single(f.models.first().target.known)
	}
	queue, queueing := f.rootQueue()
	f.endpoints.http = httpd.New(f.root(), httpd.Options{
		Queue: queue, Queueing: queueing, TenantHeader: s.Jobs.TenantHeader,
		Protocols: f.protocols().List(f.endpoints.models), Models: f.httpModels(false),
		MaxBody: s.MaxBody, StreamIdle: s.StreamIdle, Logger: f.log, CogVersion: version.Cog, ModelName: f.title(),
		CORSOrigins: s.Exposure.CORSOrigins, AllowedHosts: s.Exposure.AllowedHosts,
		Docs: f.rootPage(), DocsData: f.rootPageData(), Dashboard: f.rootDashboard(false),
		Metrics: f.mainMetrics(), OnRequest: f.metrics.Request, OnGeneration: f.metrics.Generation,
		Tracer: f.telemetry.Tracer(), Reload: f.reloader(f.models.first),
		Tokens: f.auth.Tokens(), Public: s.Exposure.Public(), Help: version.HelpPages(),
		AccessLines: lines, AccessProbes: probes, AccessText: s.Log.Console(), Memory: f.budget,
		Spool: f.files.SpoolToDisk, ReplayPuts: s.Jobs.ReplayPuts,
		ControlFromAny: s.Exposure.AllowModelControl,
		Shutdown:       f.shutdown(), ShutdownFromAny: s.Exposure.ShutdownFrom == config.FromAny,
		Connections: f.connections, TLS: f.certificate.ForHTTP(&s.Exposure),
	})
	return nil
}

// protocols returns the settings of the other protocols, of which SageMaker may add models.
func (f *Server) protocols() *config.Protocols {
	p := f.s.Protocols
	setMCP(&p.MCP, f.s.Exposure.AuthFile != "", f.s.Exposure.ModelControl())
	if f.read.Folder != nil {
		p.Repository = repository{f}
	}
	return &p
}

// setMCP sets the options of MCP of a server that requires tokens, or whose models change when clients ask for that.
func setMCP(o *mcp.Options, tokens, reload bool) {
	if o.Private = tokens; !reload {
		o.Fresh = time.Minute
	}
}

// shutdown returns what POST /shutdown calls; nil means it is off.
func (f *Server) shutdown() func() {
	if f.s.Exposure.NoShutdown {
		return nil
	}
	return f.stop.ask
}

func (f *Server) rootPage() fasthttp.RequestHandler {
	if !f.several {
		return f.models.first().page(true)
	}
	return f.byFirst(func(m *servedModel) fasthttp.RequestHandler { return m.page(true) })
}

// httpModels returns the models below /models, on the server's own port or on the one for monitoring. A single model
// whose name cannot be in a path has no routes there.
func (f *Server) httpModels(monitor bool) []httpd.Model {
	models := []httpd.Model{}
	shown := map[*versions]bool{}
	for _, m := range f.models.all() {
		if !config.IsVersionName(m.Name) {
			return nil
		}
		if v := f.models.versionsOf(m); v != nil && !shown[v] {
			shown[v] = true
			models = append(models, v.httpModel(monitor))
		}
		models = append(models, m.httpModel(monitor))
	}
	return models
}

func (m *servedModel) httpModel(monitor bool) httpd.Model {
	t := m.target
	if v := m.server.models.versionsOf(m); v != nil {
		t = v.find(m).exact
	}
	queue, queueing := m.httpQueue(t.version)
	return httpd.Model{
		Queue: queue, Queueing: queueing,
		Name: t.known.Name, Route: t, Title: m.title(), Docs: m.page(false),
		DocsData:  web.PageData(m.pageOptions(false)),
		Dashboard: m.dashboardAt(false, monitor),
		Reload:    m.server.reloader(func() *servedModel { return m }), OnRequest: m.metrics.Request, Entry: m.entry,
		Load: m.loader(), Unload: m.unloader(),
	}
}

// httpModel returns what answers for the model's name alone: as the version with the largest share, but with the
// predictions of all.
func (v *versions) httpModel(monitor bool) httpd.Model {
	primary := func() *servedModel { return v.route.Load().primary.servedModel }
	m := primary().httpModel(monitor)
	m.Queue, m.Queueing = primary().httpQueue("")
	m.Name, m.Route, m.Traffic = v.name, v, v.traffic
	if m.Load != nil {
		m.Load, m.Unload, m.Shift = v.route.Load().primary.Load, v.route.Load().primary.Unload, v.shift
		m.Reload = v.server.reloader(primary)
	}
	m.Entry = func() httpd.ModelEntry {
		e := primary().entry()
		e.Traffic = v.traffic()
		return e
	}
	return m
}

// traffic returns where requests for the model go.
func (v *versions) traffic() *httpd.Traffic {
	r := v.route.Load()
	return &httpd.Traffic{Shares: r.shares(), Mirror: r.mirrorName()}
}

// title returns the name of the default model at the start for people; "" means there is none.
func (f *Server) title() string {
	if m := f.models.first(); m != nil {
		return m.title()
	}
	return ""
}

// title returns the model's name for people.
func (m *servedModel) title() string {
	if m.server.several {
		return m.Name
	}
	return m.of.Found.Title()
}

// rootPageData returns the routes that the page at the root asks; with several models it is that of the first one at
// the time.
func (f *Server) rootPageData() map[string]fasthttp.RequestHandler {
	if !f.several {
		return web.PageData(f.models.first().pageOptions(true))
	}
	data := web.PageData(web.PageOptions{}) // every page has the same paths
	for path := range data {
		data[path] = f.byFirst(func(m *servedModel) fasthttp.RequestHandler {
			return web.PageData(m.pageOptions(true))[path]
		})
	}
	return data
}

// page answers with the page to try the model, at the root or below /models.
func (m *servedModel) page(atRoot bool) fasthttp.RequestHandler {
	return web.Page(m.pageOptions(atRoot))
}

func (m *servedModel) pageOptions(atRoot bool) web.PageOptions {
	o := web.PageOptions{
		Dir: m.of.Found.Dir, Logo: m.of.Found.Logo,
		Model: m.title(), Dashboard: m.linkToDashboard(), OpenAI: m.server.s.Protocols.OpenAIName(m.Name),
		Models: m.links(atRoot, "docs"), Help: pageHelp(),
	}
	if !atRoot {
		o.Root = "/../.."
	}
	return o
}

// pageHelp returns the address of the document about the page; "" means it is not known.
func pageHelp() string {
	if help := version.HelpPages(); help != nil {
		return help("how-to/page")
	}
	return ""
}

// links lead from a page of the model to that of each model; nil means there is one model.
func (m *servedModel) links(atRoot bool, to string) (links []web.Link) {
	if !m.server.several {
		return nil
	}
	above := "../"
	if atRoot {
		above = "models/"
	}
	for _, other := range m.server.models.all() {
		links = append(links, web.Link{
			Text: other.pathName(), Address: above + url.PathEscape(other.pathName()) + "/" + to,
			Current: other == m,
		})
	}
	return links
}

// entry returns what GET /models says of the model.
func (m *servedModel) entry() httpd.ModelEntry {
	h := m.Service.Glance()
	state, reason := m.Lifecycle.State()
	e := httpd.ModelEntry{
		State: state.String(), Load: m.of.Settings.Loading.When, Slots: m.Pool.Load().Slots,
		ModelURL: m.of.Found.Dir,
	}
	if h.Queue != nil {
		e.Queue = *h.Queue
	}
	for _, w := range h.Workers {
		e.MemoryBytes += w.MemoryBytes
	}
	if m.Service.Draining() {
		e.State = modelhost.Unloading.String()
	}
	if state == modelhost.Failed || state == modelhost.Defunct {
		e.Error = cmp.Or(reason, "the setup failed")
	}
	return e
}
