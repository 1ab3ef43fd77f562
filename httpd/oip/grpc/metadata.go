package grpc

import (
	"cmp"
	"context"
	"maps"
	"slices"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/httpd/oip"
	"pinion/httpd/protocol"
)

// service is the inference service.
type service struct {
	pb.UnimplementedGRPCInferenceServiceServer
	s *Server
}

// ServerLive answers as long as the server runs.
func (s *service) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

// ServerReady reports whether every model takes predictions.
func (s *service) ServerReady(context.Context, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, error) {
	return &pb.ServerReadyResponse{Ready: oip.Ready(s.s.opt.Models)}, nil
}

// ModelReady reports whether a model takes predictions.
func (s *service) ModelReady(ctx context.Context, req *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	m, err := s.s.opt.Models.Find(req.GetName(), req.GetVersion())
	if err != nil {
		return nil, failure(ctx, err)
	}
	return &pb.ModelReadyResponse{Ready: m.Ready() == nil}, nil
}

// ServerMetadata describes the server.
func (s *service) ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error) {
	return &pb.ServerMetadataResponse{Name: oip.ServerName, Version: s.s.opt.Version, Extensions: oip.Extensions()}, nil
}

// ModelMetadata describes a model.
func (s *service) ModelMetadata(ctx context.Context, req *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	d, err := oip.Describe(s.s.opt.Models, req.GetName(), req.GetVersion())
	if err != nil {
		return nil, failure(ctx, err)
	}
	return &pb.ModelMetadataResponse{
		Name: d.Name, Versions: d.Versions, Platform: d.Platform, Inputs: tensorMetadata(d.Inputs),
		Outputs: tensorMetadata(d.Outputs),
	}, nil
}

func tensorMetadata(list []oip.TensorMetadata) []*pb.ModelMetadataResponse_TensorMetadata {
	out := make([]*pb.ModelMetadataResponse_TensorMetadata, len(list))
	for i, t := range list {
		out[i] = &pb.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Datatype, Shape: t.Shape}
	}
	return out
}

// RepositoryIndex lists the models.
func (s *service) RepositoryIndex(_ context.Context,
	req *pb.RepositoryIndexRequest,
) (*pb.RepositoryIndexResponse, error) {
	out := new(pb.RepositoryIndexResponse)
	for _, m := range s.s.opt.Models.List() {
		for _, version := range m.All() {
			if state := version.State(); !req.GetReady() || state.Name == protocol.StateReady {
				out.Models = append(out.Models, &pb.RepositoryIndexResponse_ModelIndex{
					Name: m.Name, Version: version.Version, State: state.Name, Reason: state.Reason,
				})
			}
		}
	}
	return out, nil
}

// RepositoryModelLoad loads a model.
func (s *service) RepositoryModelLoad(ctx context.Context,
	req *pb.RepositoryModelLoadRequest,
) (*pb.RepositoryModelLoadResponse, error) {
	name := cmp.Or(req.GetModelName(), req.GetRepositoryName())
	m, err := s.s.opt.Models.Find(name, "")
	if err == nil {
		err = oip.CheckLoad(slices.Collect(maps.Keys(req.GetParameters())))
	}
	if err == nil {
		err = m.LoadFor(s.s.mayControl(ctx))
	}
	if err != nil {
		return nil, failure(ctx, err)
	}
	return &pb.RepositoryModelLoadResponse{ModelName: name, IsLoaded: true}, nil
}

// RepositoryModelUnload unloads a model.
func (s *service) RepositoryModelUnload(ctx context.Context,
	req *pb.RepositoryModelUnloadRequest,
) (*pb.RepositoryModelUnloadResponse, error) {
	name := cmp.Or(req.GetModelName(), req.GetRepositoryName())
	m, err := s.s.opt.Models.Find(name, "")
	if err == nil {
		err = m.UnloadFor(s.s.mayControl(ctx))
	}
	if err != nil {
		return nil, failure(ctx, err)
	}
	return &pb.RepositoryModelUnloadResponse{ModelName: name, IsUnloaded: true}, nil
}
