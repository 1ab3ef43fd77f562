package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/logging"
	"pinion/httpd"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/runtime/health"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

var _ place.Prober = (*gateway)(nil)

// firstRoute returns the route of the default model, or nil.
func (g *gateway) firstRoute() place.Route {
	if m := g.only(); m != nil {
		return m
	}
	return nil
}

// Ready says why nothing is accepted.
func (g *gateway) Ready() error {
	for _, m := range g.all() {
		if err := m.Ready(); err != nil {
			return err
		}
	}
	return g.finder.ready()
}

// Defunct implements place.Prober: NATS may come back.
func (g *gateway) Defunct() error { return nil }

// Health returns the health of the default model, with the status of each model.
func (g *gateway) Health(ctx context.Context) health.Document {
	out := g.health()
	if m := g.only(); m != nil {
		out = m.Health(ctx)
	} else if g.Ready() != nil {
		out.Status = health.Starting
	}
	if !g.s.Alone() {
		out.Models = map[string]health.Status{}
		for _, m := range g.all() {
			out.Models[m.name] = m.Health(ctx).Status
		}
	}
	return out
}

// health returns what all have in their health.
func (g *gateway) health() health.Document {
	connections := g.connections.Stats()
	return health.Document{
		Status:      health.Ready,
		Version:     map[string]string{"pinion": version.Pinion, "cog": version.Cog, "coglet": version.Cog},
		Connections: &connections,
	}
}

// rootPage answers with the page of the default model, or leads to the dashboard.
func (g *gateway) rootPage(ctx *fasthttp.RequestCtx) {
	if m := g.only(); m != nil {
		m.page(true)(ctx)
		return
	}
	ctx.Response.Header.Set(fasthttp.HeaderLocation, "dashboard")
	ctx.SetStatusCode(fasthttp.StatusSeeOther)
}

// httpModels returns the models below /models.
func (g *gateway) httpModels() []httpd.Model {
	models := []httpd.Model{}
	for _, m := range g.all() {
		for _, version := range append([]*gatewayModel{m}, m.allVersions()...) {
			models = append(models, httpd.Model{
				Name: version.name, Route: version, Title: version.name, Named: g.only() == nil,
				Queue: version.queue, Queueing: g.queueing(),
				Docs: version.page(false), OnRequest: version.metrics.Request, Entry: version.entry,
			})
		}
	}
	return models
}

// knownModels returns the models as other protocols know them.
func (g *gateway) knownModels() (known []*protocol.Model) {
	for _, m := range g.all() {
		known = append(known, m.known)
	}
	return known
}

func (g *gateway) queueing() place.QueueOptions {
	return place.QueueOptions{
		All: true, Wait: func() time.Duration { return g.s.QueueTimeout },
	}
}

// rootQueue returns the queue of the default model.
func (g *gateway) rootQueue() place.Queue {
	if m := g.only(); m != nil {
		return m.member
	}
	return noQueue{g.noDefault}
}

// noQueue refuses requests at the root where there is no default model.
type noQueue struct{ refusal func() error }

// noDefault says why requests must name their model.
func (g *gateway) noDefault() error {
	var names []string
	for _, m := range g.all() {
		names = append(names, m.name)
	}
	if len(names) == 0 {
		return &predict.NotReadyError{Reason: "No model has a job queue yet", RetryAfter: time.Second}
	}
	return &predict.NotReadyError{
		Reason: "This gateway has no default model: ask below /models/NAME. It has " + strings.Join(names, ", "),
	}
}

func (q noQueue) Accept(request.Submission) (request.Accepted, error) {
	return request.Accepted{}, q.refusal()
}

func (q noQueue) Find(predict.Kind, string, bool) (request.Accepted, error) {
	return request.Accepted{}, q.refusal()
}

func (q noQueue) Submit(request.Submission, bool) (*predict.Prediction, error) {
	return nil, q.refusal()
}

func (q noQueue) Attach(predict.Kind, string, bool) (*predict.Prediction, error) {
	return nil, nil
}

func (q noQueue) AttachDirect(predict.Kind, string) *predict.Prediction { return nil }

func (q noQueue) Cancel(predict.Kind, string) (bool, error) { return false, q.refusal() }

// noVersions returns empty versions, because a gateway has no workers.
func noVersions() (python, cog string) { return "", "" }
func noLoad() metrics.Load             { return metrics.Load{} }
func noTrainings() int                 { return 0 }
func noWorkers() []metrics.Worker      { return nil }

// makeMetrics makes the metrics of the gateway.
func (g *gateway) makeMetrics(sink *logging.Sink) {
	o := metrics.Options{
		Connections: g.connections.Stats, Version: version.Pinion, DroppedLogs: sink.Dropped,
		Model: noVersions, Load: noLoad, Trainings: noTrainings, Workers: noWorkers,
	}
	if g.s.Alone() {
		o.Jobs = func() *metrics.Jobs {
			if m := g.only(); m != nil {
				return jobsOf(m.member)
			}
			return nil
		}
	} else {
		o.Scope = metrics.ScopeServer
	}
	g.metrics = metrics.New(o)
}

func (g *gateway) allMetrics() metricsPage {
	if g.s.Alone() {
		return g.metrics
	}
	return metrics.Several{Server: g.metrics, Models: func() (models []metrics.NamedSet) {
		for _, m := range g.all() {
			models = append(models, metrics.NamedSet{Name: m.name, Set: m.metrics})
		}
		return models
	}}
}

var errNoNATS = errors.New("NATS cannot be reached; the gateway's log says why")
