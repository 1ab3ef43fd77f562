package jobqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/runtime/trace"
)

// AwaitCapacity implements consume.Runner, as do the next three methods.
func (m *Member) AwaitCapacity(ctx context.Context, version string) int {
	return m.o.Local.AwaitCapacity(ctx, version)
}

// MeanDuration returns how long predictions ran lately.
func (m *Member) MeanDuration(version string) time.Duration { return m.o.Local.MeanDuration(version) }

// AcquireSlot reserves a slot for a job.
func (m *Member) AcquireSlot(version string) consume.Slot {
	if slot := m.o.Local.AcquireSlot(version); slot != nil {
		return slot
	}
	return nil // not a nil Slot in an interface
}

// busyDelay is the delay after which a job that this server cannot run now is delivered again.
const busyDelay = time.Second

// Run runs a job as a prediction of this server.
func (m *Member) Run(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
	slot := c.Slot.(Slot) // of AcquireSlot
	p, err := m.create(c, slot)
	if err != nil {
		slot.Release()
		return m.refused(c, err)
	}
	m.orderWebhooks(p, c)
	defer c.NotifyStart()()
	defer p.Release()
	stop := context.AfterFunc(ctx, p.Cancel)
	err = p.Run()
	stop()
	rec := p.Record()
	if notReady := (*predict.NotReadyError)(nil); errors.As(err, &notReady) { // the model never had it
		c.RedeliverAfter = busyDelay
		return state.Starting, m.released(c)
	}
	if rec.Status == predict.Canceled && errors.Is(context.Cause(ctx), consume.ErrDraining) {
		return state.Starting, m.released(c)
	}
	c.Yielded = p.Yielded()
	rec.Input = slot.VisibleInput(rec.Kind, p.Request.Function, p.Input())
	rec.CreatedText = readObject(rec.ID, c.State.Prediction).CreatedText
	end := m.encodeEnded(p, &rec)
	if len(end) > state.MaxObject {
		return state.Failed, m.RenderEnded(&c.Job, &c.State, state.Failed, fmt.Sprintf(
			"the result has %d bytes, and the job queue takes %d at most: start the server with --upload-url", len(end),
			state.MaxObject))
	}
	return storeStatuses[rec.Status], end
}

// create makes the prediction of a job.
func (m *Member) create(c *consume.Claim, slot Slot) (*predict.Prediction, error) {
	kind := predictKind(c.Job.Kind)
	bodies := request.Reader{Memory: m.o.Memory, MaxBody: m.o.MaxBody, NewFiles: m.o.Local.NewAttachments}
	req, err := bodies.ReadStored(c.Job.ContentType, c.Job.Body, c.Charged)
	c.Job.Body = nil // the request has what it needs of the body
	if err == nil {
		req.ID, req.Kind, req.Mode, req.Attempt = c.Job.ID, kind, predict.Async, c.State.Attempt
		req.Deadline, req.Propagation = c.Job.Deadline, c.Job.Propagation
		if m.o.Tracer != nil { // the trace of the server that accepted it
			parent, _ := trace.Parse(req.TraceParent, req.TraceState)
			req.Trace, req.TraceParent, req.TraceState = m.o.Tracer.Continue(parent), "", ""
		}
		req.Created = readObject(c.Job.ID, c.State.Prediction).Created
		if c.Job.Hook = c.State.Hook; c.Job.Hook != nil {
			req.RequestID = c.Job.Hook.RequestID
		}
		req.WebhookEvents &^= predict.OnCompleted // the queue posts that one
		var p *predict.Prediction
		if p, err = slot.Assign(req); err == nil {
			return p, nil
		}
	}
	if req.Attachments != nil {
		req.Attachments.Close()
	}
	m.o.Memory.Free(req.Charged)
	return nil, err
}

// refused returns what becomes of a job that this server did not begin.
func (m *Member) refused(c *consume.Claim, err error) (state.Status, []byte) {
	switch predict.RefusalOf(err).Kind {
	case predict.RefusedValues:
		return state.Failed, m.RenderEnded(&c.Job, &c.State, state.Failed, err.Error())
	case predict.RefusedID, predict.RefusedUnavailable:
		c.RedeliverAfter = busyDelay // for another server, or for this one once the prediction that has the id has ended
		return state.Starting, m.released(c)
	}
	return state.Failed, m.RenderEnded(&c.Job, &c.State, state.Failed,
		fmt.Sprintf("the server could not begin the prediction: %v", err))
}

// webhookOrderTimeout is how long the webhook of a job's end waits for those before it.
const webhookOrderTimeout = 30 * time.Second

// orderWebhooks makes the webhook of the job's end wait until this server has posted the others.
func (m *Member) orderWebhooks(p *predict.Prediction, c *consume.Claim) {
	if p.Request.Webhook == "" || p.Request.WebhookEvents == 0 {
		return
	}
	posted := make(chan struct{})
	p.OnRelease(func() { close(posted) })
	c.BeforeWebhook = func() {
		timer := time.NewTimer(webhookOrderTimeout)
		defer timer.Stop()
		select {
		case <-posted:
		case <-timer.C:
		}
	}
}
