package front

import (
	"pinion/cmd/pinion/internal/settings"
	"pinion/cmd/pinion/internal/tokenfile"
	"pinion/cmd/pinion/internal/version"
	"pinion/httpd"
	"pinion/httpd/page"
	"pinion/httpd/protocol"
)

// makeHTTP makes the HTTP server.
func (f *Server) makeHTTP() (err error) {
	s, m := f.s, f.models[0]
	if s.Exposure.AuthFile != "" {
		if f.auth, err = tokenfile.Open(s.Exposure.AuthFile, f.log); err != nil {
			return err
		}
	}
	public, err := s.Exposure.Public()
	if err != nil {
		return err
	}
	lines, probes := s.Access()
	m.view = m.newDashboard()
	back, found := m.backend(), m.source.found
	f.endpoints.models = protocol.Single(protocol.NewModel(s.Protocols.ModelName(found), back))
	f.endpoints.http = httpd.New(back, httpd.Options{
		Protocols: s.Protocols.List(f.endpoints.models),
		MaxBody:   s.MaxBody, Logger: f.log, CogVersion: version.Cog, ModelName: found.Title(), CORSOrigins: s.Exposure.CORSOrigins,
		Docs:      page.Handler(page.Options{Model: found.Title(), Dashboard: m.linkToDashboard(), OpenAI: s.Protocols.OpenAIName(found)}),
		Dashboard: m.routesOfDashboard(false), Metrics: f.mainMetrics(), OnRequest: m.metrics.Request, OnGeneration: m.recordGeneration, Tracer: f.telemetry.Tracer(), Reload: m.reloader(),
		Tokens: f.auth.Tokens(), Public: public,
		AccessLines: lines, AccessProbes: probes, AccessText: s.Log.Console(), Memory: f.budget,
		Spool:      f.files.SpoolToDisk,
		NoShutdown: s.Exposure.NoShutdown, ShutdownFromAny: s.Exposure.ShutdownFrom == settings.FromAny,
	})
	return nil
}
