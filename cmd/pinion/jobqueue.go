package main

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/httpd"
	"pinion/runtime/jobs"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/queued"
)

// joinQueue joins the job queue of the model, if there is to be one. It needs f.http, whose reader of bodies reads jobs too.
func (f *front) joinQueue() error {
	s := &f.s.jobs
	if !s.nats.on() {
		return nil
	}
	name, err := f.s.protocols.queueName(f.model)
	if err != nil {
		return err
	}
	sync, err := s.syncInterval()
	if err != nil {
		return err
	}
	if err := s.nats.embed(name, sync); err != nil {
		return err
	}
	o := s.options(name, f.s.resultTTL)
	o.OnWait = f.metrics.JobWait
	m, err := queued.Join(queued.Options{
		Connect: func(changed func(error)) (*nats.Conn, error) { return s.nats.connect(o.Model, o.Server, changed) },
		Queue:   o, Attempts: s.attempts, Read: f.http.ReadBody, Local: f.svc, Memory: f.budget, Webhooks: f.webhooks, Logger: f.log, Tracer: f.tracer,
		Version: version, Slots: func() (slots, free int) { l := f.pool.Load(); return l.Slots, max(0, l.Slots-l.InFlight) },
	})
	if err != nil {
		s.nats.close()
		var other *jobs.MismatchError
		if errors.As(err, &other) {
			return &exitError{exitUsage, err}
		}
		return err
	}
	f.queue = m
	f.http.SetQueue(jobQueue{m}, httpd.QueueOptions{TenantHeader: s.tenantHeader, Overflow: s.overflow, Wait: f.s.queueTimeout})
	return nil
}

// leaveWait is how long a server that ends waits until the ends of its jobs are stored.
const leaveWait = 5 * time.Second

// leaveQueue leaves the job queue, when no job runs any more.
func (f *front) leaveQueue() {
	if f.queue == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
	defer cancel()
	if err := f.queue.Close(ctx); err != nil {
		f.log.Warn("left the job queue too early", "error", err)
	}
	f.s.jobs.nats.close()
}

// jobQueue gives httpd a member of the queue in the shape it asks for.
type jobQueue struct{ m *queued.Member }

// Accept implements httpd.JobQueue.
func (q jobQueue) Accept(s httpd.Submission) (httpd.Accepted, error) {
	a, err := q.m.Accept(queued.Submission(s))
	return httpd.Accepted(a), err
}

// Find implements httpd.JobQueue.
func (q jobQueue) Find(kind predict.Kind, id string) (object []byte, release func(), err error) {
	return q.m.Find(kind, id)
}

// Submit implements httpd.JobQueue.
func (q jobQueue) Submit(s httpd.Submission, lives bool) (*predict.Prediction, error) {
	return q.m.Submit(queued.Submission(s), lives)
}

// Attach implements httpd.JobQueue.
func (q jobQueue) Attach(kind predict.Kind, id string) *predict.Prediction {
	return q.m.Attach(kind, id)
}

// AttachDirect implements httpd.JobQueue.
func (q jobQueue) AttachDirect(kind predict.Kind, id string) *predict.Prediction {
	return q.m.AttachDirect(kind, id)
}

// Cancel implements httpd.JobQueue.
func (q jobQueue) Cancel(kind predict.Kind, id string) (bool, error) { return q.m.Cancel(kind, id) }

// fleet is the server's part in the queue, for its health; nil: there is none.
func (f *front) fleetHealth() *httpd.Fleet {
	if f.queue == nil {
		return nil
	}
	h := f.queue.Health()
	return fleetOf(h)
}

func fleetOf(h queued.Health) *httpd.Fleet {
	return &httpd.Fleet{Connected: h.Connected, Servers: h.Servers, Stored: h.Stored, Waiting: h.Waiting, Running: h.Running, Error: h.Error}
}

// jobsNow is the queue as the metrics want it.
func jobsNow(m *queued.Member) *metrics.Jobs {
	if m == nil {
		return nil
	}
	h := m.Health()
	return &metrics.Jobs{Waiting: h.Waiting, Running: h.Here, Redelivered: h.Tally.Redelivered, Dead: h.Tally.Dead, Fenced: h.Tally.Fenced}
}
