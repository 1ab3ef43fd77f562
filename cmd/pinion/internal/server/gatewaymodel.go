package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/cmd/internal/version"
	"pinion/httpd"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/httpd/web"
	"pinion/runtime/health"
	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// gatewayModel is a model of the gateway, which servers elsewhere run: all its predictions are jobs of the queue.
type gatewayModel struct {
	requestChecker
	g        *gateway
	name     string // with the version
	version  string // that its requests name; "" means none
	member   *jobqueue.Member
	metrics  *metrics.Set
	known    *protocol.Model                 // to other protocols
	versions atomic.Pointer[[]*gatewayModel] // that servers have told of
}

var (
	_ place.Service    = (*gatewayModel)(nil)
	_ place.Route      = (*gatewayModel)(nil)
	_ protocol.Service = (*gatewayModel)(nil)
)

// join joins the queue of a model, in the background.
func (g *gateway) join(name string) *gatewayModel {
	m := &gatewayModel{requestChecker: newRequestChecker(g.files, g.log), g: g, name: name, metrics: g.metrics}
	log := g.log
	if !g.s.Alone() {
		log = log.With("model", name)
		m.metrics = metrics.New(metrics.Options{
			Scope: metrics.ScopeModel, Version: version.Pinion, Model: noVersions, Load: noLoad, Trainings: noTrainings,
			Workers: noWorkers, Jobs: func() *metrics.Jobs { return jobsOf(m.member) },
		})
	}
	m.known = protocol.NewModel(name, m)
	s := g.s
	m.known.Versions, m.known.ResultTTL = m.knownVersions, s.ResultTTL
	queue := s.Jobs.Options(name, s.ResultTTL)
	m.member = jobqueue.Join(jobqueue.Options{
		Connect: func(changed func(error)) *state.Conn {
			return s.Jobs.NATS.Dial(queue.Model, queue.Server, changed)
		},
		Queue: queue, Attempts: s.Jobs.Attempts, MaxBody: s.MaxBody, Checker: m, Memory: g.budget,
		Webhooks: g.webhooks.Account(), Logger: log,
	})
	return m
}

// joined returns why the queue could not be joined, if that is known.
func (m *gatewayModel) joined(ctx context.Context) error { return m.refusal(m.member.Joined(ctx)) }

func (m *gatewayModel) refusal(err error) error {
	if err != nil {
		err = fmt.Errorf("model %s: %w", m.name, err)
	}
	return err
}

// errGatewayItems means that a request sends the items of a streamed input in its body.
var errGatewayItems = predict.Refused(predict.RefusedBody,
	"a gateway has no model that takes items while it answers: send the items as a list, or ask a server of the model")

// Assign makes a job of a request of another protocol, and returns a prediction that stands for it. A native request
// goes to the queue as it came.
func (m *gatewayModel) Assign(req predict.Request) (*predict.Prediction, error) {
	if req.Inlet != nil {
		return nil, errGatewayItems
	}
	if req.Function != "" { // a job names none
		return nil, &predict.NotReadyError{Reason: "A gateway serves no functions: ask a server of the model"}
	}
	req.Version = m.version
	if req.Form != nil { // the schema says which types its fields have
		if _, _, err := m.Check(&req, math.MaxInt); err != nil {
			return nil, err
		}
	}
	in, err := newJobInput(&req, m.g.budget)
	if err != nil {
		return nil, err
	}
	defer in.release()
	sent := req
	sent.Input, sent.Tensors, sent.Attachments, sent.Body, sent.Disk, sent.Shared = in.input(), nil, nil, nil, nil, nil
	if sent.Deadline.IsZero() {
		sent.Deadline = time.Now().Add(m.g.s.QueueTimeout)
	}
	p, err := m.member.Submit(request.Submission{
		Request: sent, Body: in.body, ContentType: "application/json",
	}, false)
	if err != nil {
		return nil, err
	}
	if req.Attachments != nil { // the queue has all of it
		req.Attachments.Close()
	}
	if req.Disk != nil {
		req.Disk.Unmap(false)
	}
	if req.Shared != nil {
		req.Shared.Free(false)
	}
	m.g.budget.Free(req.Charged)
	return p, nil
}

// Model implements place.Route, as do Holder and Assign: servers elsewhere answer, by the queue.
func (m *gatewayModel) Model() place.Service { return m }

// Holder returns the model.
func (m *gatewayModel) Holder(predict.Kind, string) place.Service { return m }

// SubmitAll has nothing to do: the jobs are in the queue.
func (m *gatewayModel) SubmitAll([]*predict.Prediction) {}

// LoadOpenAPI is OpenAPI, which it asks NATS for where no server's document is known yet.
func (m *gatewayModel) LoadOpenAPI() ([]byte, bool) {
	if _, ok := m.OpenAPI(); !ok {
		m.member.LearnSchema()
	}
	return m.OpenAPI()
}

// Ready says why nothing is accepted.
func (m *gatewayModel) Ready() error {
	if h := m.member.Health(); h.Error != "" {
		return errors.New(h.Error)
	}
	return nil
}

// State says whether requests are taken: they wait for a server.
func (m *gatewayModel) State() protocol.State {
	if err := m.Ready(); err != nil {
		return protocol.State{Name: protocol.StateUnavailable, Reason: err.Error()}
	}
	if _, ok := m.OpenAPI(); !ok {
		return protocol.State{Name: protocol.StateLoading, Reason: "no server has published the model's schema yet"}
	}
	return protocol.State{Name: protocol.StateReady}
}

// Load and Unload are for the servers.
func (m *gatewayModel) Load() error   { return protocol.ErrNoControl }
func (m *gatewayModel) Unload() error { return protocol.ErrNoControl }

// Health tells of the queue.
func (m *gatewayModel) Health(context.Context) health.Document {
	h, fleet := m.g.health(), m.member.Health()
	if fleet.Error != "" {
		h.Status = health.Starting
	}
	h.Fleet = fleet
	return h
}

// entry returns what GET /models says of the model: it is ready if a server takes its jobs.
func (m *gatewayModel) entry() httpd.ModelEntry {
	e := httpd.ModelEntry{State: "unloaded", Load: "startup"}
	summary, servers, err := m.member.Overview()
	if err != nil {
		e.Error = err.Error()
		return e
	}
	for i := range servers {
		slots, ok := m.slotsOf(&servers[i])
		e.Slots += slots
		if ok && !servers[i].Draining {
			e.State = "ready"
		}
	}
	e.Queue = health.Queue{Length: summary.Waiting, Capacity: int(summary.Capacity)}
	return e
}

// page answers with the page to try the model.
func (m *gatewayModel) page(atRoot bool) fasthttp.RequestHandler {
	o := web.PageOptions{
		Model: m.name, Dashboard: "dashboard", OpenAI: m.g.s.Protocols.OpenAIName(m.name), Help: pageHelp(), Calls: true,
	}
	if !atRoot {
		o.Root, o.Dashboard = "/../..", "../../dashboard"
	}
	return func(ctx *fasthttp.RequestCtx) {
		o := o
		o.Models = m.g.links(m, atRoot)
		web.Page(o)(ctx)
	}
}

// links lead from a page of a model to that of each; nil means there is one.
func (g *gateway) links(from *gatewayModel, atRoot bool) (links []web.Link) {
	if g.s.Alone() {
		return nil
	}
	above := "../"
	if atRoot {
		above = "models/"
	}
	for _, m := range g.all() {
		links = append(links, web.Link{
			Text: m.name, Address: above + url.PathEscape(m.name) + "/docs", Current: m == from,
		})
	}
	return links
}
