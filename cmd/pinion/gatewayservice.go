package main

import (
	"context"

	"pinion/httpd"
	"pinion/runtime/predict"
	"pinion/runtime/service"
)

// gatewayService is what httpd asks of a server that has no model: all predictions are the queue's.
type gatewayService struct{ g *gateway }

var _ httpd.Service = gatewayService{}

// Create implements httpd.Service, as do the others. It is not asked, for all requests go to the queue.
func (s gatewayService) Create(predict.Request) (*predict.Prediction, error) {
	return nil, &predict.NotReadyError{Reason: "A gateway has no model"}
}

// NewAttachments returns a store for the files of a request's body.
func (s gatewayService) NewAttachments() httpd.Attachments {
	return service.Attachments{Attachments: s.g.files.NewAttachments()}
}

// Start follows a prediction of the queue in the background.
func (s gatewayService) Start(p *predict.Prediction) {
	p.Hold()
	p.Submit()
	go func() {
		defer p.Release()
		_ = p.Wait() // its record has the error
	}()
}

// Find finds none.
func (s gatewayService) Find(predict.Kind, string) *predict.Prediction { return nil }

// Result finds none.
func (s gatewayService) Result(predict.Kind, string) (*predict.Prediction, predict.Record, bool) {
	return nil, predict.Record{}, false
}

// Cancel cancels none.
func (s gatewayService) Cancel(predict.Kind, string) bool { return false }

// Ready says why nothing is accepted.
func (s gatewayService) Ready() error {
	if h := s.g.member.Health(); h.Error != "" {
		return errNoQueue(h.Error)
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
		Status: status, Version: map[string]string{"pinion": version, "cog": cogVersion, "coglet": cogVersion},
		Fleet: fleetOf(h),
	}
}

// RunExample runs none.
func (s gatewayService) RunExample(context.Context) *httpd.ExampleRun { return nil }

// OpenAPI has no document: the gateway does not know the model's.
func (s gatewayService) OpenAPI() ([]byte, bool) { return nil, false }

// Shutdown is not asked: a gateway has no POST /shutdown.
func (s gatewayService) Shutdown() {}

// HasTraining is true: a server that has none fails the training.
func (s gatewayService) HasTraining() bool { return true }
