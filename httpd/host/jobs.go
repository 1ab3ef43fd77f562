package host

import (
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/httpd/native"
	"pinion/httpd/negotiate"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// kind is that of the predictions that clients look up.
const kind = predict.KindPrediction

// CreateJob implements protocol.Jobs.
func (h *Host) CreateJob(ctx *fasthttp.RequestCtx, m *protocol.Model,
	c protocol.JobCall,
) (protocol.Job, *protocol.Error) {
	placer := h.Placer(m.Name)
	how := negotiate.ReadJobMode(&ctx.Request.Header)
	req := place.Request{How: how, ContentType: ctx.Request.Header.ContentType(), Memory: h.Front.Out.Memory}
	defer req.Discard()
	err := h.readJob(ctx, placer, &req, &c)
	var placed place.Placed
	if err == nil {
		placed, err = placer.Place(&req)
	}
	switch {
	case err != nil:
		return protocol.Job{}, protocol.ErrorOf(err)
	case placed.State == place.Queued:
		answers.Warn(ctx, placed.Accepted.Warnings)
		id := placed.Accepted.ID
		object := [3][]byte{answers.Starting(id)}
		return protocol.Job{ID: id, Status: predict.Starting.String(), Object: object, Bare: true}, nil
	}
	h.Front.Out.Announce(ctx, placed.Prediction.ID(), placed.Prediction.Warnings)
	return h.startJob(ctx, placer, placed.Prediction, how)
}

// readJob reads the request of a job, and takes over what the call has.
func (h *Host) readJob(ctx *fasthttp.RequestCtx, placer *place.Placer, req *place.Request, c *protocol.JobCall) error {
	err := req.ReadJSON(&c.Body, true)
	if c.Input != nil && placer.Queue == nil {
		req.Input, req.Lists, req.Attachments = c.Input, rawjson.Lists{}, c.Attachments
	} else if c.Attachments != nil { // the input names them by their links
		c.Attachments.Close()
	}
	if err != nil {
		return err
	}
	meta, err := h.Front.Meta(ctx)
	if meta.For(&req.Request); err != nil || placer.Queues(req.How) {
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
func (h *Host) startJob(ctx *fasthttp.RequestCtx, placer *place.Placer, p *predict.Prediction,
	how negotiate.Mode,
) (protocol.Job, *protocol.Error) {
	if !how.Bounded {
		p.Start()
		// Clients drop the output that they are given here: Replicate's run reads what follows.
		return h.jobOf(placer, p, true), nil
	}
	r := native.NewRun(h.Front.Out, p)
	r.Start(nil)
	ended := r.EndsWithin(ctx, how.Wait)
	if ended && r.Err != nil {
		p.Release()
		return protocol.Job{}, protocol.ErrorOf(r.Err)
	}
	return h.jobOf(placer, p, !ended), nil
}

// jobOf returns a prediction as a job, which holds it. unfinished means that nothing that it has done since its start
// is shown.
func (h *Host) jobOf(placer *place.Placer, p *predict.Prediction, unfinished bool) protocol.Job {
	rec := p.Record()
	if kept, shown, ok := placer.Route.Holder(kind, p.ID()).Result(kind, p.ID()); ok {
		p.Release()
		p, rec = kept, shown // with its input
	}
	if unfinished {
		rec.Status, rec.Output, rec.Open, rec.Error = predict.Starting, nil, false, ""
		rec.Logs, rec.Metrics, rec.Started, rec.Completed = nil, nil, time.Time{}, time.Time{}
	}
	return h.jobFrom(p, &rec)
}

// AwaitJob implements protocol.Jobs.
func (h *Host) AwaitJob(ctx *fasthttp.RequestCtx, m *protocol.Model, c protocol.Call,
	most time.Duration,
) (protocol.Job, *protocol.Error) {
	placer := h.Placer(m.Name)
	req := place.Request{How: negotiate.Mode{Bounded: true}, Outlives: true, ContentType: []byte("application/json")}
	defer req.Discard()
	req.ID, req.Input, req.Span, req.Mode = c.ID, c.Inputs[0], c.Span, req.How.Prediction()
	req.Created = time.Now()
	if placer.Queue != nil { // which takes the body of a native request
		conn, _ := ctx.Conn().(*transport.Conn)
		if err := h.Front.Bodies.ChargeCopies(conn, &c.Body, 1); err != nil {
			return protocol.Job{}, protocol.ErrorOf(err)
		}
		req.Raw = slices.Concat([]byte(`{"input":`), req.Input, []byte{'}'})
	}
	req.Own(&c.Body)
	meta, err := h.Front.Meta(ctx)
	meta.For(&req.Request)
	var placed place.Placed
	if err == nil {
		placed, err = placer.Place(&req)
	}
	if err != nil {
		return protocol.Job{}, protocol.ErrorOf(err)
	}
	p := placed.Prediction
	h.Front.Out.Announce(ctx, p.ID(), p.Warnings)
	r := native.NewRun(h.Front.Out, p)
	r.Start(nil)
	if r.EndsWithin(ctx, most) && r.Err != nil {
		p.Release()
		return protocol.Job{}, protocol.ErrorOf(r.Err)
	}
	rec := p.Record()
	return protocol.Job{ID: rec.ID, Record: &rec, Owner: p}, nil
}

func (h *Host) jobFrom(p *predict.Prediction, rec *predict.Record) protocol.Job {
	return protocol.Job{
		ID: rec.ID, Status: rec.Status.String(),
		Object: [3][]byte{h.Front.Out.Object.AppendHead(nil, rec), rec.Output, h.Front.Out.Object.AppendTail(nil, rec)},
		Bare:   rec.Members == nil,
		Owner:  p,
	}
}

// FindJob implements protocol.Jobs.
func (h *Host) FindJob(m *protocol.Model, id string) (protocol.Job, bool, *protocol.Error) {
	job, ok, err := h.LookUp(m, id)
	if job.Record != nil {
		job = h.jobFrom(job.Owner.(*predict.Prediction), job.Record)
	}
	return job, ok, err
}

// LookUp implements protocol.Jobs.
func (h *Host) LookUp(m *protocol.Model, id string) (protocol.Job, bool, *protocol.Error) {
	placer := h.Placer(m.Name)
	var rec predict.Record
	placed, err := placer.Find(kind, id, false, &rec)
	switch {
	case err != nil:
		return protocol.Job{}, false, protocol.ErrorOf(err)
	case placed.State == place.Known:
		return protocol.Job{ID: id, Record: &rec, Owner: placed.Prediction}, true, nil
	case placed.State == place.Queued:
		object := [3][]byte{nil, placed.Accepted.Object}
		return protocol.Job{ID: id, Object: object, Bare: true, Owner: placed.Accepted.Owner}, true, nil
	}
	return protocol.Job{}, false, nil
}

// CancelJob implements protocol.Jobs.
func (h *Host) CancelJob(m *protocol.Model, id string) (bool, *protocol.Error) {
	canceled, err := h.Placer(m.Name).Cancel(kind, id)
	if err != nil {
		return false, protocol.ErrorOf(err)
	}
	return canceled, nil
}

// FollowJob implements protocol.Jobs.
func (h *Host) FollowJob(ctx *fasthttp.RequestCtx, m *protocol.Model, id string,
	to protocol.EventRenderer,
) (bool, *protocol.Error) {
	placer := h.Placer(m.Name)
	placed, err := placer.Follow(kind, id)
	if err != nil {
		return true, protocol.ErrorOf(err)
	}
	if placed.State == place.Unknown {
		return false, nil
	}
	var r *native.Run
	if placed.State == place.Made {
		r = native.NewRun(h.Front.Out, placed.Prediction)
	}
	if err := h.Front.Predictions(placer).Stream(ctx, placed.Prediction, placed.Events, r, to); err != nil {
		return true, protocol.ErrorOf(err)
	}
	return true, nil
}

// SendEvents implements protocol.Host.
func (h *Host) SendEvents(ctx *fasthttp.RequestCtx, r *protocol.Run, to protocol.EventRenderer) *protocol.Error {
	h.Front.Out.Access.Named(ctx, r.ID())
	p, events, err := r.Observe()
	if err != nil {
		return err
	}
	if err := h.Front.Predictions(nil).Stream(ctx, p, events, native.NewRun(h.Front.Out, p), to); err != nil {
		return protocol.ErrorOf(err)
	}
	return nil
}

// Signature implements protocol.Jobs.
func (h *Host) Signature(path string) string {
	if h.Tokens == nil {
		return ""
	}
	return h.Tokens.Sign(path)
}

// Address implements protocol.Jobs.
func (h *Host) Address(ctx *fasthttp.RequestCtx) string {
	scheme := "http://"
	if h.TLS || string(ctx.Request.Header.Peek(fasthttp.HeaderXForwardedProto)) == "https" {
		scheme = "https://"
	}
	return scheme + string(ctx.Host())
}
