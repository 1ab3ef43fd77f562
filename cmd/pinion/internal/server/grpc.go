package server

import (
	"context"
	"net"
	"strings"

	"pinion/cmd/internal/version"
	"pinion/httpd/oip/grpc"
)

// grpcServer is the port of --grpc-port, or nil.
type grpcServer struct {
	*grpc.Server
	ln net.Listener
}

// openGRPC opens the port of --grpc-port, if one is wanted.
func (f *Server) openGRPC() error {
	if f.s.Protocols.GRPCPort < 0 {
		return nil
	}
	host := f.s.Exposure.Address()
	if strings.HasPrefix(host, "unix:") {
		host = "127.0.0.1"
	}
	ln, address, err := listen(host, f.s.Protocols.GRPCPort,
		portSetting{Flag: "--grpc-port", Variable: "PINION_GRPC_PORT"})
	if err != nil {
		return err
	}
	o := grpc.Options{
		Models: f.endpoints.models, Version: version.Pinion, Logger: f.log, MaxMessage: f.s.MaxBody, Memory: f.budget,
		ControlFromAny: f.s.Exposure.AllowModelControl, Connections: f.connections, OnCall: f.metrics.Call,
		Tracer: f.telemetry.Tracer(),
	}
	if tokens := f.auth.Tokens(); tokens != nil {
		o.Authorized = func(token string) bool { return tokens.Has([]byte(token)) }
	}
	f.endpoints.grpc = &grpcServer{grpc.New(o), ln}
	f.log.Info("serving gRPC", "grpc_address", strings.TrimPrefix(address, "http://"))
	return nil
}

// shutdown lets the calls in flight end.
func (s *grpcServer) shutdown(ctx context.Context) error {
	if s == nil {
		return nil
	}
	return s.Shutdown(ctx)
}
