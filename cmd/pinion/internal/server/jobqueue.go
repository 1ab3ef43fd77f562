package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/process"
	"pinion/httpd"
	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store"
)

// joinQueues joins the job queue of each model, if there is to be one.
func (f *Server) joinQueues() error {
	for _, m := range f.all() {
		if err := m.joinQueue(); err != nil {
			return err
		}
	}
	return nil
}

// queueTitle is the name by which the job queue knows the model.
func (m *servedModel) queueTitle() (string, error) {
	if m.server.several {
		return m.Name, nil
	}
	return m.server.s.Protocols.QueueTitle(m.of.Found)
}

// joinQueue joins the job queue of the model, if there is to be one.
func (m *servedModel) joinQueue() error {
	f, s := m.server, &m.server.s.Jobs
	if !s.NATS.On() {
		return nil
	}
	title, err := m.queueTitle()
	if err != nil {
		return err
	}
	o := s.Options(title, m.of.Settings.ResultTTL)
	var leave func()
	if o.Embedded, leave, err = f.embedded.open(f, o.Model); err != nil {
		return err
	}
	o.OnWait = m.metrics.JobWait
	joined, err := jobqueue.Join(jobqueue.Options{
		Connect: func(changed func(error)) (*nats.Conn, error) {
			if o.Embedded != nil {
				return o.Embedded.Connect(store.Always(o.Server, changed)...)
			}
			return s.NATS.Connect(o.Model, o.Server, changed)
		},
		Queue: o, Attempts: s.Attempts, MaxBody: f.s.MaxBody, Local: &jobRunner{m.Service, m.Lifecycle}, Memory: f.budget,
		Webhooks: m.Webhooks, Logger: m.Log, Tracer: f.telemetry.Tracer(),
		Schema: m.schema, Version: version.Pinion,
		Slots: func() (slots, free int) { l := m.Pool.Load(); return l.Slots, max(0, l.Slots-l.InFlight) },
	})
	if err != nil {
		leave()
		if f.several {
			err = fmt.Errorf("model %s: %w", m.Name, err)
		}
		var other *store.MismatchError
		if errors.As(err, &other) {
			return process.Misused(err)
		}
		return err
	}
	m.queue, m.leaveNATS = joined, leave
	return nil
}

// httpQueue is the queue of the model as HTTP has it, or nil.
func (m *servedModel) httpQueue() (func() httpd.JobQueue, httpd.QueueOptions) {
	if m.queue == nil {
		return nil, httpd.QueueOptions{}
	}
	return func() httpd.JobQueue { return m.queue }, m.server.queueing(func() *servedModel { return m })
}

// queueing says which requests go to the queue of a model.
func (f *Server) queueing(of func() *servedModel) httpd.QueueOptions {
	return httpd.QueueOptions{
		TenantHeader: f.s.Jobs.TenantHeader, Overflow: f.s.Jobs.Overflow,
		Wait: func() time.Duration { return of().of.Settings.QueueTimeout },
	}
}

// schema is what gateways may know of the model; false: it is not known yet.
func (m *servedModel) schema() (store.Schema, bool) {
	l, ok := m.Service.Reported()
	return store.Schema{Streaming: l.Streaming, Train: l.Train, Predict: l.Predict, OpenAPI: l.Schema}, ok
}

// drainQueue takes no more jobs.
func (m *servedModel) drainQueue() {
	if m.stopJobs != nil {
		m.stopJobs()
	}
	if m.queue != nil {
		m.queue.Drain()
	}
}

// releaseJobs gives the jobs that run back, for other servers.
func (m *servedModel) releaseJobs() {
	if m.queue != nil {
		m.queue.Release()
	}
}

// leaveQueue leaves the job queue, when no job runs any more. The webhooks that are stored there stay for other
// servers, or for the next start.
func (m *servedModel) leaveQueue(ctx context.Context) {
	if m.queue != nil {
		m.drainQueue()
		m.leaving.Do(func() { m.hangUp(ctx) })
	}
}

func (m *servedModel) hangUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveWait)
	defer cancel()
	if err := m.queue.Close(ctx); err != nil {
		m.Log.Warn("left the job queue too early", "error", err)
	}
	m.leaveNATS()
}
