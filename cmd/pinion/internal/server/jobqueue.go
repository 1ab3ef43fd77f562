package server

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/process"
	"pinion/httpd"
	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store"
)

// joinQueue joins the job queue of the only model, if there is to be one.
func (f *Server) joinQueue() error {
	s, m := &f.s.Jobs, f.first()
	if !s.NATS.On() {
		return nil
	}
	name, err := m.server.s.Protocols.QueueName(m.of.Found)
	if err != nil {
		return err
	}
	sync, err := s.SyncInterval()
	if err != nil {
		return err
	}
	if err := s.NATS.Embed(name, sync, m.server.orphans, m.Log); err != nil {
		return err
	}
	o := s.Options(name, m.of.Settings.ResultTTL)
	o.OnWait = m.metrics.JobWait
	joined, err := jobqueue.Join(jobqueue.Options{
		Connect: func(changed func(error)) (*nats.Conn, error) { return s.NATS.Connect(o.Model, o.Server, changed) },
		Queue:   o, Attempts: s.Attempts, MaxBody: f.s.MaxBody, Local: m.Service, Memory: m.server.budget,
		Webhooks: m.server.webhooks, Logger: m.Log, Tracer: m.server.telemetry.Tracer(),
		Schema: m.schema, Version: version.Pinion,
		Slots: func() (slots, free int) { l := m.Pool.Load(); return l.Slots, max(0, l.Slots-l.InFlight) },
	})
	if err != nil {
		s.NATS.Close()
		var other *store.MismatchError
		if errors.As(err, &other) {
			return process.Misused(err)
		}
		return err
	}
	m.queue = joined
	return nil
}

// httpQueue is the queue of the model as HTTP has it; nil: there is none.
func (m *servedModel) httpQueue() (httpd.JobQueue, httpd.QueueOptions) {
	if m.queue == nil {
		return nil, httpd.QueueOptions{}
	}
	s := &m.server.s.Jobs
	return m.queue,
		httpd.QueueOptions{TenantHeader: s.TenantHeader, Overflow: s.Overflow, Wait: m.of.Settings.QueueTimeout}
}

// schema is what gateways may know of the model; false: it is not known yet.
func (m *servedModel) schema() (store.Schema, bool) {
	l, ok := m.Service.Reported()
	return store.Schema{Streaming: l.Streaming, Train: l.Train, Predict: l.Predict, OpenAPI: l.Schema}, ok
}

// leaveQueue leaves the job queue, when no job runs any more. The webhooks that are stored there stay for other
// servers, or for the next start.
func (m *servedModel) leaveQueue(ctx context.Context) {
	if m.queue != nil {
		m.leaving.Do(func() { m.hangUp(ctx) })
	}
}

func (m *servedModel) hangUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveWait)
	defer cancel()
	if err := m.queue.Close(ctx); err != nil {
		m.Log.Warn("left the job queue too early", "error", err)
	}
	m.server.s.Jobs.NATS.Close()
}

// fleet is the server's part in the queue, for its health; nil: there is none.
func (m *servedModel) fleetHealth() *httpd.Fleet {
	if m.queue == nil {
		return nil
	}
	return fleetOf(m.queue.Health())
}
