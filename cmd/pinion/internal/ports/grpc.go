package ports

import (
	"context"
	"net"
	"strings"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/config"
	"pinion/httpd/oip/grpc"
)

// GRPC is the port of --grpc-port; nil means there is none.
type GRPC struct {
	server *grpc.Server
	ln     net.Listener
}

// OpenGRPC opens the port of a server or gateway; nil means none is wanted.
func OpenGRPC(p *config.Protocols, e *config.Exposure, auth *TokenFile, cert *Certificate, o grpc.Options) (*GRPC, error) {
	if p.GRPCPort < 0 {
		return nil, nil
	}
	host := e.Address()
	if strings.HasPrefix(host, "unix:") {
		host = "127.0.0.1"
	}
	ln, address, err := Listen(host, p.GRPCPort, Setting{Flag: "--grpc-port", Variable: "PINION_GRPC_PORT"}, cert)
	if err != nil {
		return nil, err
	}
	o.Version, o.ControlFromAny, o.TLS = version.Pinion, e.AllowModelControl, cert.of("h2", true)
	if tokens := auth.Tokens(); tokens != nil {
		o.Authorized = func(token string) bool { return tokens.Has([]byte(token)) }
	}
	o.Logger.Info("serving gRPC", "grpc_address", address[strings.Index(address, "//")+2:])
	return &GRPC{grpc.New(o), ln}, nil
}

// Serve answers until Shutdown.
func (g *GRPC) Serve() error { return g.server.Serve(g.ln) }

// Discard closes a port that nothing answers at yet.
func (g *GRPC) Discard() {
	if g != nil {
		g.ln.Close()
	}
}

// Shutdown lets the calls in flight end.
func (g *GRPC) Shutdown(ctx context.Context) error {
	if g == nil {
		return nil
	}
	return g.server.Shutdown(ctx)
}
