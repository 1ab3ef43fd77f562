package harness

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/tests/assert"
)

// GRPCAddress returns the address of --grpc-port.
func (s *Server) GRPCAddress() string { return s.WaitLog("serving gRPC").GRPCAddress }

// GRPC connects to the port of --grpc-port.
func (s *Server) GRPC() (*grpc.ClientConn, pb.GRPCInferenceServiceClient) {
	s.t.Helper()
	conn := assert.Must(grpc.NewClient(s.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials())))(s.t)
	s.t.Cleanup(func() { conn.Close() })
	return conn, pb.NewGRPCInferenceServiceClient(conn)
}
