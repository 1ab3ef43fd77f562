package httpd

// NewMonitor makes a server that answers the probes and Options.Metrics only, and wants no token: for a port of its own, which
// only those who watch the server can reach.
func NewMonitor(svc Service, o Options) *Server {
	o.Tokens = nil
	s := New(svc, o)
	r := s.newRouteTable()
	r.monitoring()
	s.route = r.router.Handler
	return s
}
