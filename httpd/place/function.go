package place

import (
	"context"

	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/runtime/schema"
)

// Of returns the placer of a model's function: its predictions run here, and have their own ids. A job of the queue names
// no function, so none of them becomes one.
func (p *Placer) Of(function string) Placer {
	of := *p
	of.Route, of.Queue, of.Queueing = functionRoute{p.Route, function}, nil, QueueOptions{}
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
