package place

import (
	"context"

	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/runtime/schema"
)

// Of returns the placer of a model's function: its predictions run where the model's do, and have their own ids.
func (p *Placer) Of(function string) Placer {
	of := *p
	of.Route = functionRoute{p.Route, function}
	if queue := p.Queue; queue != nil {
		of.Queue = func() Queue { return functionQueue{queue(), function} }
	}
	return of
}

type functionRoute struct {
	Route
	name string
}

func (f functionRoute) Model() Service { return functionService{f.Route.Model(), f.name} }

func (f functionRoute) Holder(kind predict.Kind, id string) Service {
	return functionService{f.Route.Holder(kind, predict.FunctionID(f.name, id)), f.name}
}

func (f functionRoute) Assign(req predict.Request) (*predict.Prediction, error) {
	req.Function = f.name
	return f.Route.Assign(req)
}

type functionService struct {
	Service
	name string
}

func (f functionService) Find(kind predict.Kind, id string) *predict.Prediction {
	return f.Service.Find(kind, predict.FunctionID(f.name, id))
}

func (f functionService) Result(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool) {
	return f.Service.Result(kind, predict.FunctionID(f.name, id))
}

func (f functionService) Cancel(kind predict.Kind, id string) bool {
	return f.Service.Cancel(kind, predict.FunctionID(f.name, id))
}

func (f functionService) OpenAPI() ([]byte, bool) {
	document, ok := f.Service.OpenAPI()
	if ok {
		document = schema.FunctionDocument(document, f.name)
	}
	return document, document != nil
}

// RunExample runs none: that of the model tells of its workers.
func (functionService) RunExample(context.Context) *health.ExampleRun { return nil }

func (functionService) HasTraining() bool { return false }

// functionQueue is the part of a model's queue that is a function's.
type functionQueue struct {
	Queue
	name string
}

func (f functionQueue) Accept(s request.Submission) (request.Accepted, error) {
	s.Request.Function = f.name
	return f.Queue.Accept(s)
}

func (f functionQueue) Find(kind predict.Kind, id string, calls bool) (request.Accepted, error) {
	return f.Queue.Find(kind, predict.FunctionID(f.name, id), calls)
}

func (f functionQueue) Submit(s request.Submission, outlives bool) (*predict.Prediction, error) {
	s.Request.Function = f.name
	return f.Queue.Submit(s, outlives)
}

func (f functionQueue) Attach(kind predict.Kind, id string, needed bool) (*predict.Prediction, error) {
	return f.Queue.Attach(kind, predict.FunctionID(f.name, id), needed)
}

func (f functionQueue) AttachDirect(kind predict.Kind, id string) *predict.Prediction {
	return f.Queue.AttachDirect(kind, predict.FunctionID(f.name, id))
}

func (f functionQueue) Cancel(kind predict.Kind, id string) (bool, error) {
	return f.Queue.Cancel(kind, predict.FunctionID(f.name, id))
}
