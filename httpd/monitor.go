package httpd

// NewMonitor returns a server that answers only probes, Options.Metrics and Options.Dashboard, and those of Options.Models, and requires no token. It is
// for a separate port that only monitoring can reach.
func NewMonitor(svc Service, o Options) *Server {
	o.Tokens = nil
	s := New(svc, o)
	r := s.root.newRouteTable()
	r.monitoring()
	for _, a := range s.models {
		below := a.newRouteTable()
		below.router = r.router
		below.probes()
		below.dashboard()
	}
	s.route = r.router.Handler
	return s
}
