package grpc

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/runtime/logtext"

	"pinion/httpd/oip"
)

// health is the standard health service. It derives the state from the models at each call.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	s *Server
}

// watchInterval is how often a Watch looks for a change.
const watchInterval = time.Second

func (h *health) state() *grpc_health_v1.HealthCheckResponse {
	if oip.Ready(h.s.opt.Models) {
		return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_NOT_SERVING}
}

// known reports whether a service is known; "" is the server as a whole.
func known(service string) bool {
	return service == "" || service == pb.GRPCInferenceService_ServiceDesc.ServiceName
}

// Check reports whether the models take predictions.
func (h *health) Check(_ context.Context,
	req *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	if !known(req.GetService()) {
		return nil, status.Errorf(codes.NotFound, "unknown service %q: this server has %q", logtext.Clip(req.GetService()),
			pb.GRPCInferenceService_ServiceDesc.ServiceName)
	}
	return h.state(), nil
}

// List reports the state of all services.
func (h *health) List(context.Context, *grpc_health_v1.HealthListRequest) (*grpc_health_v1.HealthListResponse, error) {
	return &grpc_health_v1.HealthListResponse{Statuses: map[string]*grpc_health_v1.HealthCheckResponse{
		"": h.state(), pb.GRPCInferenceService_ServiceDesc.ServiceName: h.state(),
	}}, nil
}

// Watch sends the state, and then each change.
func (h *health) Watch(req *grpc_health_v1.HealthCheckRequest, stream grpc_health_v1.Health_WatchServer) error {
	callOf(stream.Context()).received()
	last := grpc_health_v1.HealthCheckResponse_UNKNOWN
	changed := h.s.states.watch(h.s)
	defer h.s.states.leave()
	for {
		now := &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN}
		if known(req.GetService()) {
			now = h.state()
		}
		if now.Status != last {
			last = now.Status
			if err := stream.Send(now); err != nil {
				return err
			}
		}
		select {
		case <-changed:
			changed = h.s.states.next()
		case <-h.s.closing:
			return status.Error(codes.Unavailable, "the server is shutting down")
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

// states wakes all Watch calls when the models' state changes. One timer looks for all of them.
type states struct {
	mu      sync.Mutex
	watched int // Watch calls
	ready   bool
	changed chan struct{} // closed at the next change
	timer   *time.Timer
}

// watch returns what is closed at the next change. The caller leaves.
func (st *states) watch(s *Server) <-chan struct{} {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.watched++; st.watched == 1 {
		st.ready, st.changed = oip.Ready(s.opt.Models), make(chan struct{})
		st.timer = time.AfterFunc(watchInterval, func() { st.refresh(s) })
	}
	return st.changed
}

// next returns what is closed at the next change.
func (st *states) next() <-chan struct{} {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.changed
}

func (st *states) leave() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.watched--; st.watched == 0 {
		st.timer.Stop()
	}
}

// refresh wakes the Watch calls if the state has changed.
func (st *states) refresh(s *Server) {
	ready := oip.Ready(s.opt.Models)
	st.mu.Lock()
	defer st.mu.Unlock()
	if ready != st.ready {
		st.ready = ready
		close(st.changed)
		st.changed = make(chan struct{})
	}
	if st.watched > 0 {
		st.timer.Reset(watchInterval)
	}
}
