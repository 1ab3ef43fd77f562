package httpd

import (
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/body"
	"pinion/httpd/negotiate"
	"pinion/httpd/place"
	"pinion/httpd/transport"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// collection is the routes under /predictions or /trainings. The two differ in their kind and their messages.
type collection struct {
	s     *Server // beside api's, because it is used most
	a     *api
	kind  predict.Kind
	noun  string // "prediction"; the path has the plural
	title string // "Prediction"
}

// create answers POST: it creates and runs a prediction.
func (k collection) create(ctx *fasthttp.RequestCtx) { k.place(ctx, "") }

// put answers PUT: like create, but if the id is in flight the client joins that prediction.
func (k collection) put(ctx *fasthttp.RequestCtx) {
	id, ok := pathID(ctx)
	if !ok || k.unserved() {
		k.s.out.notFound(ctx)
		return
	}
	if err := k.checkID(id); err != nil {
		k.s.out.refuse(ctx, err)
		return
	}
	k.place(ctx, id)
}

// place answers a request for a prediction with an id of the client's path, or "".
func (k collection) place(ctx *fasthttp.RequestCtx, id string) {
	req := place.Request{Memory: k.s.opt.Memory}
	defer req.Discard()
	err := k.read(ctx, &req)
	if err == nil && id != "" && req.ID != "" && req.ID != id {
		var bad request.Problems
		bad.Add(k.noun+" ID must match the ID supplied in the URL", "body", "id")
		err = bad.Err()
	}
	if err != nil {
		k.s.out.refuse(ctx, err)
		return
	}
	if id != "" {
		req.ID, req.Idempotent = id, true
	}
	placed, err := k.a.placer.Place(&req)
	if err != nil {
		k.s.out.refuse(ctx, err)
		return
	}
	k.respond(ctx, placed)
}

// get answers GET with the state of a prediction.
func (k collection) get(ctx *fasthttp.RequestCtx) {
	if k.unserved() {
		k.s.out.notFound(ctx)
		return
	}
	if id, ok := pathID(ctx); ok {
		var rec predict.Record
		placed, err := k.a.placer.Find(k.kind, id, ctx.QueryArgs().Has("calls"), &rec)
		switch {
		case err != nil:
			k.s.out.refuse(ctx, err)
			return
		case placed.State == place.Known:
			rec.Members = placed.Prediction.Calls(time.Now()).AppendTo(rec.Members)
			k.answerKept(ctx, placed.Prediction, &rec)
			return
		case placed.State == place.Queued:
			k.s.out.answerQueued(ctx, placed)
			return
		}
	}
	k.s.out.detail(ctx, fasthttp.StatusNotFound, k.title+" not found")
}

// cancel answers at once. The request that created the prediction gets its result.
func (k collection) cancel(ctx *fasthttp.RequestCtx) {
	if k.unserved() {
		k.s.out.notFound(ctx)
		return
	}
	id, ok := pathID(ctx)
	canceled, err := false, error(nil)
	if ok {
		canceled, err = k.a.placer.Cancel(k.kind, id)
	}
	switch {
	case canceled:
		literal(ctx, fasthttp.StatusOK, "{}")
	case err != nil:
		k.s.out.refuse(ctx, err)
	default:
		literal(ctx, fasthttp.StatusNotFound, "{}")
	}
}

// unserved reports whether the model lacks this kind.
func (k collection) unserved() bool {
	return k.kind == predict.KindTraining && !k.a.to.Model().HasTraining()
}

// read reads the headers and the body of a create request into req.
func (k collection) read(ctx *fasthttp.RequestCtx, req *place.Request) error {
	if k.unserved() {
		return predict.ErrNoTraining
	}
	h := &ctx.Request.Header
	form, encoding, err := negotiate.FormOf(h)
	if err != nil {
		return err
	}
	how := negotiate.Mode{}
	if transport.HasSeen(ctx, transport.SeenAccept|transport.SeenPrefer) {
		how = negotiate.ReadMode(h)
		if how.OrObject {
			req.Instead = negotiate.ReadPrefer(h)
		}
	}
	if k.kind == predict.KindTraining && how.OrObject {
		how = req.Instead
	}
	req.How, req.ContentType = how, h.ContentType()
	if form == request.JSON && encoding == negotiate.Plain {
		var read body.Body
		if read, err = k.s.bodies.Take(ctx); err == nil {
			err = req.ReadJSON(&read, len(req.ContentType) > 0)
		}
	} else {
		err = k.readOther(ctx, req, form, encoding)
	}
	if err != nil {
		return err
	}
	meta, err := k.s.meta(ctx)
	if err != nil {
		return err
	}
	meta.For(&req.Request)
	req.Kind, req.Mode = k.kind, how.Prediction()
	req.WantFile = transport.HasSeen(ctx, transport.SeenAccept) && negotiate.Rendered(h, true) == negotiate.AsFile
	if k.kind == predict.KindTraining && how.Kind == predict.Stream {
		return predict.ErrTrainingStream
	}
	return nil
}
