package server

import (
	"context"
	"net"
	"strings"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/config"
	"pinion/httpd/oip/grpc"
)

// grpcServer is the port of --grpc-port, or nil.
type grpcServer struct {
	*grpc.Server
	ln net.Listener
}

// openGRPC opens the port of --grpc-port, if one is wanted.
func (f *Server) openGRPC() (err error) {
	f.endpoints.grpc, err = openGRPC(&f.s.Protocols, &f.s.Exposure, f.auth, f.certificate, grpc.Options{
		Models: f.endpoints.models, Logger: f.log, MaxMessage: f.s.MaxBody, Memory: f.budget,
		Connections: f.connections, OnCall: f.metrics.Call, Tracer: f.telemetry.Tracer(),
		TenantHeader: f.s.Jobs.TenantHeader,
	})
	return err
}

// openGRPC opens the port of a server or gateway; nil means none is wanted.
func openGRPC(p *config.Protocols, e *config.Exposure, auth *tokenFile, cert *certificate, o grpc.Options) (*grpcServer, error) {
	if p.GRPCPort < 0 {
		return nil, nil
	}
	host := e.Address()
	if strings.HasPrefix(host, "unix:") {
		host = "127.0.0.1"
	}
	ln, address, err := listen(host, p.GRPCPort, portSetting{Flag: "--grpc-port", Variable: "PINION_GRPC_PORT"}, cert)
	if err != nil {
		return nil, err
	}
	o.Version, o.ControlFromAny, o.TLS = version.Pinion, e.AllowModelControl, cert.of("h2", true)
	if tokens := auth.Tokens(); tokens != nil {
		o.Authorized = func(token string) bool { return tokens.Has([]byte(token)) }
	}
	o.Logger.Info("serving gRPC", "grpc_address", address[strings.Index(address, "//")+2:])
	return &grpcServer{grpc.New(o), ln}, nil
}

// shutdown lets the calls in flight end.
func (s *grpcServer) shutdown(ctx context.Context) error {
	if s == nil {
		return nil
	}
	return s.Shutdown(ctx)
}
