package server

import (
	"context"
	"net"

	"pinion/cmd/pinion/internal/ports"
	"pinion/httpd"
	"pinion/httpd/protocol"
)

// endpoints are the server's sockets and what answers at them.
type endpoints struct {
	http    *httpd.Server
	ln      net.Listener
	address string
	monitor *httpd.Server   // nil means metrics and probes have no separate port
	watched net.Listener    // the monitor's
	grpc    *ports.GRPC     // nil means off
	models  protocol.Models // for other protocols
}

func (f *Server) listen() (err error) {
	f.endpoints.ln, f.endpoints.address, err = ports.Listen(f.s.Exposure.Address(), f.s.Port,
		ports.Setting{Flag: "-p", Variable: f.s.PortVariable}, f.certificate)
	return err
}

// serve begins to answer. A socket that fails is sent.
func (e *endpoints) serve() <-chan error {
	served := make(chan error, 3)
	go func() { served <- e.http.Serve(e.ln) }()
	if e.monitor != nil {
		go func() { served <- e.monitor.Serve(e.watched) }()
	}
	if e.grpc != nil {
		go func() { served <- e.grpc.Serve() }()
	}
	return served
}

// discard closes the sockets that nothing answers at yet.
func (e *endpoints) discard() {
	for _, ln := range []net.Listener{e.ln, e.watched} {
		if ln != nil {
			ln.Close()
		}
	}
	e.grpc.Discard()
}

// shutdown lets the requests in flight end, until ctx does.
func (e *endpoints) shutdown(ctx context.Context) (http, grpc error) {
	ended := make(chan error, 1)
	go func() { ended <- e.grpc.Shutdown(ctx) }()
	http = e.http.Shutdown(ctx)
	return http, <-ended
}
