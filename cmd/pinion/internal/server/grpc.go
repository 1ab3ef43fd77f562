package server

import (
	"pinion/cmd/pinion/internal/ports"
	"pinion/httpd/oip/grpc"
)

// openGRPC opens the port of --grpc-port, if one is wanted.
func (f *Server) openGRPC() (err error) {
	f.endpoints.grpc, err = ports.OpenGRPC(&f.s.Protocols, &f.s.Exposure, f.auth, f.certificate, grpc.Options{
		Models: f.endpoints.models, Logger: f.log, MaxMessage: f.s.MaxBody, StreamIdle: f.s.StreamIdle, Memory: f.budget,
		Connections: f.connections, OnCall: f.metrics.Call, Tracer: f.telemetry.Tracer(),
		TenantHeader: f.s.Jobs.TenantHeader,
	})
	return err
}
