package httpd

import (
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// jobsOf returns the predictions of a model.
func (h *host) jobsOf(m *protocol.Model) collection {
	a := h.s.find(m.Name)
	if a == nil {
		a = h.s.root
	}
	return collection{h.protocols.s, a, predict.KindPrediction, "prediction", "Prediction"}
}

// CreateJob implements protocol.Jobs.
func (h *host) CreateJob(ctx *fasthttp.RequestCtx, m *protocol.Model,
	c protocol.JobCall,
) (protocol.Job, *protocol.Error) {
	k := h.jobsOf(m)
	how := negotiate.ReadJobMode(&ctx.Request.Header)
	req := place.Request{How: how, ContentType: ctx.Request.Header.ContentType(), Memory: h.s.opt.Memory}
	defer req.Discard()
	err := k.readJob(ctx, &req, &c)
	var placed place.Placed
	if err == nil {
		placed, err = k.a.placer.Place(&req)
	}
	switch {
	case err != nil:
		return protocol.Job{}, protocol.ErrorOf(err)
	case placed.State == place.Queued:
		warn(ctx, placed.Accepted.Warnings)
		id := placed.Accepted.ID
		return protocol.Job{ID: id, Status: predict.Starting.String(), Object: [3][]byte{startingObject(id)}, Bare: true}, nil
	}
	k.s.out.announce(ctx, placed.Prediction.ID(), placed.Prediction.Warnings)
	return k.startJob(ctx, placed.Prediction, how)
}

// readJob reads the request of a job, and takes over what the call has.
func (k collection) readJob(ctx *fasthttp.RequestCtx, req *place.Request, c *protocol.JobCall) error {
	err := req.ReadJSON(&c.Body, true)
	if c.Input != nil && k.a.placer.Queue == nil {
		req.Input, req.Lists, req.Attachments = c.Input, rawjson.Lists{}, c.Attachments
	} else if c.Attachments != nil { // the input names them by their links
		c.Attachments.Close()
	}
	if err != nil {
		return err
	}
	meta, err := k.s.meta(ctx)
	if meta.For(&req.Request); err != nil || k.a.placer.Queues(req.How) {
		req.Mode = req.How.Prediction()
		return err
	}
	if req.ID == "" {
		req.ID = predict.NewID(time.Now())
	}
	req.Mode, req.Members = predict.Async, c.Members(req.ID)
	return nil
}

// startJob starts a prediction, and waits for its end as long as the client wants.
func (k collection) startJob(ctx *fasthttp.RequestCtx, p *predict.Prediction,
	how negotiate.Mode,
) (protocol.Job, *protocol.Error) {
	if !how.Bounded {
		p.Start()
		return k.jobOf(p, true), nil // clients drop the output that they are given here: Replicate's run reads what follows
	}
	r := newRun(k.s.out, p)
	r.start(nil)
	ended := k.s.out.ended(ctx, r, how.Wait)
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
	if kept, shown, ok := k.a.to.Holder(k.kind, p.ID()).Result(k.kind, p.ID()); ok {
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
		Object:  [3][]byte{k.s.out.object.AppendHead(nil, rec), rec.Output, k.s.out.object.AppendTail(nil, rec)},
		Bare:    rec.Members == nil,
		Release: p.Release,
	}
}

// FindJob implements protocol.Jobs.
func (h *host) FindJob(m *protocol.Model, id string) (protocol.Job, bool, *protocol.Error) {
	k := h.jobsOf(m)
	var rec predict.Record
	placed, err := k.a.placer.Find(k.kind, id, false, &rec)
	switch {
	case err != nil:
		return protocol.Job{}, false, protocol.ErrorOf(err)
	case placed.State == place.Known:
		return k.jobFrom(placed.Prediction, &rec), true, nil
	case placed.State == place.Queued:
		object := [3][]byte{nil, placed.Accepted.Object}
		return protocol.Job{ID: id, Object: object, Bare: true, Release: placed.Accepted.Release}, true, nil
	}
	return protocol.Job{}, false, nil
}

// CancelJob implements protocol.Jobs.
func (h *host) CancelJob(m *protocol.Model, id string) (bool, *protocol.Error) {
	canceled, err := h.jobsOf(m).a.placer.Cancel(predict.KindPrediction, id)
	if err != nil {
		return false, protocol.ErrorOf(err)
	}
	return canceled, nil
}

// FollowJob implements protocol.Jobs.
func (h *host) FollowJob(ctx *fasthttp.RequestCtx, m *protocol.Model, id string,
	to protocol.EventRenderer,
) (bool, *protocol.Error) {
	k := h.jobsOf(m)
	placed, err := k.a.placer.Follow(k.kind, id)
	if err != nil {
		return true, protocol.ErrorOf(err)
	}
	if placed.State == place.Unknown {
		return false, nil
	}
	var r *run
	if placed.State == place.Made {
		r = newRun(k.s.out, placed.Prediction)
	}
	k.streamTo(ctx, placed.Prediction, placed.Events, r, to)
	return true, nil
}

// Signature implements protocol.Jobs.
func (h *host) Signature(path string) string {
	if h.s.opt.Tokens == nil {
		return ""
	}
	return h.s.opt.Tokens.Sign(path)
}

// Address implements protocol.Jobs.
func (h *host) Address(ctx *fasthttp.RequestCtx) string {
	scheme := "http://"
	if h.s.opt.TLS != nil || string(ctx.Request.Header.Peek(fasthttp.HeaderXForwardedProto)) == "https" {
		scheme = "https://"
	}
	return scheme + string(ctx.Host())
}
