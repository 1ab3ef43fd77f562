package httpd

// NewMonitor returns a server that answers only probes, Options.Metrics and Options.Dashboard, and those of
// Options.Models, and requires no token. It is for a separate port that only monitoring can reach.
func NewMonitor(route Route, o Options) *Server {
	o.Tokens, o.monitors = nil, true
	s := New(route, o)
	r := s.root.newRouteTable()
	r.monitoring()
	if o.Models != nil {
		r.router.ANY(pathModel+"/{rest:*}", s.routeModel)
	}
	s.route = r.router.Handler
	return s
}
