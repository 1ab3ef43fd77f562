package server

import (
	"context"
	"errors"

	"pinion/cmd/internal/version"
	"pinion/httpd"
	"pinion/runtime/predict"
)

// gatewayService is what httpd asks of a server that has no model: all predictions are the queue's, and the checker has
// none.
type gatewayService struct {
	requestChecker
	g *gateway
}

var _ httpd.Service = gatewayService{}

// Create is not asked, for all requests go to the queue.
func (s gatewayService) Create(predict.Request) (*predict.Prediction, error) {
	return nil, &predict.NotReadyError{Reason: "A gateway has no model"}
}

// Ready says why nothing is accepted.
func (s gatewayService) Ready() error {
	if h := s.g.member.Health(); h.Error != "" {
		return errors.New(h.Error)
	}
	return nil
}

// Defunct never is: the gateway joins the queue again.
func (s gatewayService) Defunct() error { return nil }

// Health tells of the queue.
func (s gatewayService) Health(context.Context) httpd.Health {
	h := s.g.member.Health()
	status := "READY"
	if h.Error != "" {
		status = "STARTING"
	}
	return httpd.Health{
		Status: status, Version: map[string]string{
			"pinion": version.Pinion, "cog": version.Cog,
			"coglet": version.Cog,
		},
		Fleet: fleetOf(h), Connections: httpd.ConnectionsOf(s.g.connections.Stats()),
	}
}

func (s gatewayService) RunExample(context.Context) *httpd.ExampleRun { return nil }

// OpenAPI has no document: the gateway does not know the model's.
func (s gatewayService) OpenAPI() ([]byte, bool) { return nil, false }

// HasTraining is true: a server that has none fails the training.
func (s gatewayService) HasTraining() bool { return true }
