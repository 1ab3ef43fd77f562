package httpd

// NewMonitor returns a server that answers only probes, Options.Metrics and Options.Dashboard, and requires no token. It is
// for a separate port that only monitoring can reach.
func NewMonitor(svc Service, o Options) *Server {
	o.Tokens = nil
	s := New(svc, o)
	r := s.newRouteTable()
	r.monitoring()
	s.route = r.router.Handler
	return s
}
