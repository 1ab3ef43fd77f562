package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/process"
	"pinion/httpd/place"
	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/metrics"
)

// joinWait is how long a start waits for NATS before it goes on without the job queues.
const joinWait = time.Second

// joinQueues joins the job queue of each model, if there is to be one.
func (f *Server) joinQueues() error {
	for _, m := range f.models.all() {
		if err := m.joinQueue(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), joinWait)
	defer cancel()
	for _, m := range f.models.all() {
		// One that is refused later ends the server, as it would have ended the start.
		if err := m.awaitQueue(ctx, f.stop.refuse); err != nil {
			return err
		}
	}
	return nil
}

// joinLate joins the job queue of a model that is added while the server runs.
func (m *servedModel) joinLate() error {
	if err := m.joinQueue(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), joinWait)
	defer cancel()
	return m.awaitQueue(ctx, func(err error) { m.Log.Error("the model's job queue cannot be joined", "error", err) })
}

// awaitQueue waits for the end of the first attempt to join the queue, until ctx ends. refused is called with the error
// if NATS refuses the model later.
func (m *servedModel) awaitQueue(ctx context.Context, refused func(error)) error {
	if m.queue == nil {
		return nil
	}
	q := m.queue
	if err := q.member.Joined(ctx); err != nil {
		return q.refusal(err)
	}
	go func() {
		if err := q.member.Refused(); err != nil {
			refused(q.refusal(err))
		}
	}()
	return nil
}

// refusal returns why the queue could not be joined, with its exit code.
func (q *modelQueue) refusal(err error) error {
	_, misused := errors.AsType[*state.MismatchError](err)
	if q.server.several {
		err = fmt.Errorf("model %s: %w", q.title, err)
	}
	if misused {
		return process.Misused(err)
	}
	return err
}

// queueTitle is the name by which the job queue knows the model, whichever version it is.
func (m *servedModel) queueTitle() (string, error) {
	if m.server.several {
		name, _ := m.split()
		return name, nil
	}
	return m.server.s.Protocols.QueueTitle(m.of.Found)
}

// joinQueue joins the job queue of the model, if there is to be one, or shares it with what else is served of that
// model.
func (m *servedModel) joinQueue() error {
	f := m.server
	if !f.s.Jobs.NATS.On() {
		return nil
	}
	title, err := m.queueTitle()
	if err != nil {
		return err
	}
	ttl := m.of.Settings.ResultTTL
	for _, other := range f.models.every() {
		if q := other.queue; q != nil && q.title == title && q.ttl == ttl && q.share(m) {
			m.queue = q
			return nil
		}
	}
	q := newModelQueue(f, title, ttl)
	q.metrics = m.metrics
	if f.several {
		q.metrics = metrics.New(metrics.Options{Scope: metrics.ScopeQueue, Jobs: q.jobs})
	}
	q.users = []*servedModel{m}
	if err := q.join(m); err != nil {
		if f.several {
			err = fmt.Errorf("model %s: %w", m.Name, err)
		}
		return err
	}
	m.queue = q
	return nil
}

// join joins the queue. m is the first that uses it.
func (q *modelQueue) join(m *servedModel) (err error) {
	f, s := q.server, &q.server.s.Jobs
	o := s.Options(q.title, q.ttl)
	host, leave, err := f.embedded.open(f, o.Model)
	if err != nil {
		return err
	}
	if q.leaveNATS = leave; host != nil {
		o.Host = host
	}
	o.OnWait = q.metrics.JobWait
	q.member = jobqueue.Join(jobqueue.Options{
		Connect: func(changed func(error)) *state.Conn {
			if host != nil {
				return state.DialHost(host.Dialer(), o.Server, changed)
			}
			return s.NATS.Dial(o.Model, o.Server, changed)
		},
		Queue: o, Attempts: s.Attempts, MaxBody: f.s.MaxBody, Local: q, Memory: f.budget,
		Webhooks: m.Webhooks, Logger: q.log(m), Tracer: f.telemetry.Tracer(),
		Schema: q.schema, Version: version.Pinion, Slots: q.slots, Versions: q.versions,
	})
	return nil
}

// httpQueue returns the queue of the model as HTTP has it, or nil. version is that which requests name, or "".
func (m *servedModel) httpQueue(version string) (func() place.Queue, place.QueueOptions) {
	if m.queue == nil {
		return nil, place.QueueOptions{}
	}
	var queue place.Queue = m.queue.member
	if version != "" {
		queue = jobqueue.Version{Member: m.queue.member, Name: version}
	}
	return func() place.Queue { return queue }, m.server.queueing(func() *servedModel { return m })
}

// queueing says which requests go to the queue of a model.
func (f *Server) queueing(of func() *servedModel) place.QueueOptions {
	return place.QueueOptions{
		Overflow: f.s.Jobs.Overflow,
		Wait: func() time.Duration {
			if m := of(); m != nil {
				return m.of.Settings.QueueTimeout
			}
			return 0
		},
	}
}

// schema returns what gateways may know of the model; false means it is not known yet.
func (m *servedModel) schema() (state.Schema, bool) {
	l, ok := m.Service.Reported()
	return state.Schema{Streaming: l.Streaming, Train: l.Train, Predict: l.Predict, OpenAPI: l.Schema}, ok
}

// routeJobs lets the queues give jobs to these models.
func (f *Server) routeJobs(list []*servedModel) {
	targets := map[*modelQueue][]*target{}
	for _, m := range list {
		if m.queue == nil {
			continue
		}
		t := m.target
		if v := f.models.versionsOf(m); v != nil {
			t = v.find(m)
		}
		targets[m.queue] = append(targets[m.queue], t)
	}
	for q, list := range targets {
		q.route(list)
	}
}

// drainQueue takes no more jobs.
func (m *servedModel) drainQueue() {
	if m.queue != nil {
		m.queue.drainFor(m)
	}
}

// releaseJobs gives the jobs that run back, for other servers.
func (m *servedModel) releaseJobs() {
	if m.queue != nil {
		m.queue.member.Release(func(s consume.Slot) bool { return s.(*target).servedModel == m })
	}
}
