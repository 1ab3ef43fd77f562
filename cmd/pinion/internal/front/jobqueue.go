package front

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"

	"pinion/cmd/pinion/internal/exit"
	"pinion/cmd/pinion/internal/member"
	"pinion/cmd/pinion/internal/version"
	"pinion/httpd"
	"pinion/runtime/jobs"
	"pinion/runtime/queued"
)

// joinQueue joins the job queue of the model, if there is to be one. It needs f.http, whose reader of bodies reads jobs too.
func (f *Server) joinQueue() error {
	s := &f.s.Jobs
	if !s.NATS.On() {
		return nil
	}
	name, err := f.s.Protocols.QueueName(f.model)
	if err != nil {
		return err
	}
	sync, err := s.SyncInterval()
	if err != nil {
		return err
	}
	if err := s.NATS.Embed(name, sync); err != nil {
		return err
	}
	o := s.Options(name, f.s.ResultTTL)
	o.OnWait = f.metrics.JobWait
	m, err := queued.Join(queued.Options{
		Connect: func(changed func(error)) (*nats.Conn, error) { return s.NATS.Connect(o.Model, o.Server, changed) },
		Queue:   o, Attempts: s.Attempts, Read: f.http.ReadBody, Local: f.svc, Memory: f.budget, Webhooks: f.webhooks, Logger: f.log, Tracer: f.tracer,
		Version: version.Pinion, Slots: func() (slots, free int) { l := f.pool.Load(); return l.Slots, max(0, l.Slots-l.InFlight) },
	})
	if err != nil {
		s.NATS.Close()
		var other *jobs.MismatchError
		if errors.As(err, &other) {
			return exit.Misused(err)
		}
		return err
	}
	f.queue = m
	f.http.SetQueue(member.Of(m), httpd.QueueOptions{TenantHeader: s.TenantHeader, Overflow: s.Overflow, Wait: f.s.QueueTimeout})
	return nil
}

// leaveQueue leaves the job queue, when no job runs any more.
func (f *Server) leaveQueue() {
	if f.queue == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), member.LeaveWait)
	defer cancel()
	if err := f.queue.Close(ctx); err != nil {
		f.log.Warn("left the job queue too early", "error", err)
	}
	f.s.Jobs.NATS.Close()
}

// fleet is the server's part in the queue, for its health; nil: there is none.
func (f *Server) fleetHealth() *httpd.Fleet {
	if f.queue == nil {
		return nil
	}
	return member.Fleet(f.queue.Health())
}
