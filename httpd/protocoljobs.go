package httpd

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/request"
)

// maxJobWait is how long Prefer: wait lets a client of another protocol wait.
const maxJobWait = time.Minute

// jobsOf returns the predictions of a model.
func (p *protocols) jobsOf(m *protocol.Model) collection {
	a := p.find(m.Name)
	if a == nil {
		a = p.root
	}
	return collection{p.Server, a, predict.KindPrediction, "prediction", "Prediction"}
}

// CreateJob implements protocol.Jobs.
func (p *protocols) CreateJob(ctx *fasthttp.RequestCtx, m *protocol.Model,
	c protocol.JobCall,
) (protocol.Job, *protocol.Error) {
	k := p.jobsOf(m)
	how := jobMode(&ctx.Request.Header)
	taken := false
	defer func() {
		if !taken {
			c.Body.Release()
			if c.Attachments != nil {
				c.Attachments.Close()
			}
		}
	}()
	req, err := k.jobRequest(ctx, &c, how)
	if err != nil {
		return protocol.Job{}, protocol.ErrorOf(err)
	}
	if k.queues(how) {
		return k.acceptJob(ctx, req, how)
	}
	if c.Attachments != nil && req.Attachments == nil { // the input names them by their links
		c.Attachments.Close()
		c.Attachments = nil
	}
	created, err := k.admit(ctx, &req, how, &taken)
	if err != nil {
		return protocol.Job{}, protocol.ErrorOf(err)
	}
	if k.access != nil {
		ctx.SetUserValue(idKey{}, created.ID())
	}
	warn(ctx, created.Warnings)
	return k.startJob(ctx, created, how)
}

// jobMode returns the mode of a job: it is awaited for a bounded time, or not at all.
func jobMode(h *fasthttp.RequestHeader) answerMode {
	how := readPrefer(h)
	switch {
	case how.mode == predict.Async:
	case how.bounded && how.wait > 0:
		how.wait = min(how.wait, maxJobWait)
	case prefersWait(h):
		how = answerMode{bounded: true, wait: maxJobWait}
	default:
		how = answerMode{mode: predict.Async}
	}
	return how
}

// prefersWait reports whether Prefer has a wait without a number.
func prefersWait(h *fasthttp.RequestHeader) bool {
	for item := range elements(h.PeekAll(headerPrefer)...) {
		if bytes.EqualFold(item, []byte("wait")) {
			return true
		}
	}
	return false
}

// jobRequest reads the request of a job.
func (k collection) jobRequest(ctx *fasthttp.RequestCtx, c *protocol.JobCall, how answerMode) (predict.Request, error) {
	var req predict.Request
	err := request.ReadJSON(&req, c.Body.Data, true)
	req.Charged, req.Disk = c.Body.Charged, c.Body.Disk
	if c.Body.Owned {
		req.Body = c.Body.Data
	}
	if err == nil {
		var meta request.Meta
		meta, err = k.meta(ctx)
		meta.For(&req)
	}
	if err != nil || k.queues(how) {
		return req, err
	}
	if c.Input != nil && k.queue == nil {
		req.Input, req.Lists, req.Attachments = c.Input, rawjson.Lists{}, c.Attachments
	}
	if req.ID == "" {
		req.ID = predict.NewID(time.Now())
	}
	req.Mode, req.Members = predict.Async, c.Members(req.ID)
	return req, nil
}

// acceptJob gives a job to the queue.
func (k collection) acceptJob(ctx *fasthttp.RequestCtx, req predict.Request,
	how answerMode,
) (protocol.Job, *protocol.Error) {
	req.Mode = how.modeOf()
	a, err := k.queue().Accept(k.submission(ctx, req, how))
	if err != nil {
		return protocol.Job{}, protocol.ErrorOf(err)
	}
	warn(ctx, a.Warnings)
	return protocol.Job{
		ID: a.ID, Status: predict.Starting.String(), Object: [3][]byte{startingObject(a.ID)}, Bare: true,
	}, nil
}

// startJob starts a prediction, and waits for its end as long as the client wants.
func (k collection) startJob(ctx *fasthttp.RequestCtx, p *predict.Prediction,
	how answerMode,
) (protocol.Job, *protocol.Error) {
	if !how.bounded {
		p.Start()
		return k.jobOf(p, true), nil // clients drop the output that they are given here: Replicate's run reads what follows
	}
	r := newRun(k.Server, p)
	r.start(nil)
	ended := k.ended(ctx, r, how.wait)
	if ended && r.err != nil {
		p.Release()
		return protocol.Job{}, protocol.ErrorOf(r.err)
	}
	return k.jobOf(p, !ended), nil
}

// jobOf returns a prediction as a job, which holds it. unfinished means that nothing that it has done since its start
// is shown.
func (k collection) jobOf(p *predict.Prediction, unfinished bool) protocol.Job {
	rec := p.Record()
	if kept, shown, ok := k.to.Holder(k.kind, p.ID()).Result(k.kind, p.ID()); ok {
		p.Release()
		p, rec = kept, shown // with its input
	}
	if unfinished {
		rec.Status, rec.Output, rec.Open, rec.Error = predict.Starting, nil, false, ""
		rec.Logs, rec.Metrics, rec.Started, rec.Completed = nil, nil, time.Time{}, time.Time{}
	}
	return k.jobFrom(p, &rec)
}

func (k collection) jobFrom(p *predict.Prediction, rec *predict.Record) protocol.Job {
	return protocol.Job{
		ID: rec.ID, Status: rec.Status.String(),
		Object:  [3][]byte{k.object.AppendHead(nil, rec), rec.Output, k.object.AppendTail(nil, rec)},
		Bare:    rec.Members == nil,
		Release: p.Release,
	}
}

// FindJob implements protocol.Jobs.
func (p *protocols) FindJob(m *protocol.Model, id string) (protocol.Job, bool, *protocol.Error) {
	k := p.jobsOf(m)
	if found, rec, ok := k.local(id); ok {
		return k.jobFrom(found, &rec), true, nil
	}
	if k.queue == nil {
		return protocol.Job{}, false, nil
	}
	object, release, err := k.queue().Find(k.kind, id, false)
	switch {
	case err != nil:
		return protocol.Job{}, false, protocol.ErrorOf(err)
	case object == nil:
		return protocol.Job{}, false, nil
	}
	return protocol.Job{ID: id, Object: [3][]byte{nil, object}, Bare: true, Release: release}, true, nil
}

// CancelJob implements protocol.Jobs.
func (p *protocols) CancelJob(m *protocol.Model, id string) (bool, *protocol.Error) {
	canceled, err := p.jobsOf(m).cancelAny(id)
	if err != nil {
		return false, protocol.ErrorOf(err)
	}
	return canceled, nil
}

// FollowJob implements protocol.Jobs.
func (p *protocols) FollowJob(ctx *fasthttp.RequestCtx, m *protocol.Model, id string,
	to protocol.EventRenderer,
) (bool, *protocol.Error) {
	k := p.jobsOf(m)
	found, _, ok := k.local(id)
	var r *run
	if !ok && k.queue != nil {
		var err error
		if found, err = k.queue().Attach(k.kind, id, true); err != nil {
			return true, protocol.ErrorOf(err)
		}
		if found == nil {
			found = k.queue().AttachDirect(k.kind, id)
		}
		if ok = found != nil; ok {
			r = newRun(k.Server, found)
		}
	}
	if !ok {
		return false, nil
	}
	sub, err := found.Subscribe()
	if err != nil {
		found.Release()
		return true, protocol.ErrorOf(err)
	}
	k.streamTo(ctx, found, sub, r, to)
	return true, nil
}

// Signature implements protocol.Jobs.
func (p *protocols) Signature(path string) string {
	if p.opt.Tokens == nil {
		return ""
	}
	return p.opt.Tokens.sign(path)
}

// Address implements protocol.Jobs.
func (p *protocols) Address(ctx *fasthttp.RequestCtx) string {
	scheme := "http://"
	if ctx.IsTLS() || string(ctx.Request.Header.Peek(fasthttp.HeaderXForwardedProto)) == "https" {
		scheme = "https://"
	}
	return scheme + string(ctx.Host())
}
