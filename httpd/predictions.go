package httpd

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/transport"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// collection is the routes under /predictions or /trainings. The two differ in their kind and their messages.
type collection struct {
	*Server // beside api's, because it is used most
	*api
	kind  predict.Kind
	noun  string // "prediction"; the path has the plural
	title string // "Prediction"
}

// create answers POST: it creates and runs a prediction.
func (k collection) create(ctx *fasthttp.RequestCtx) {
	var req predict.Request
	how, err := k.read(ctx, &req)
	taken := false
	defer k.discard(&req, &taken)
	if err != nil {
		k.refuse(ctx, err)
		return
	}
	k.identify(&req)
	if k.queues(how) {
		k.enqueue(ctx, req, how)
		return
	}
	p, err := k.admit(ctx, &req, how, &taken)
	if how.orObject && predict.RefusalOf(err).Kind == predict.RefusedStream {
		how = k.withoutStream(ctx, &req, how.raw)
		if k.queues(how) {
			k.enqueue(ctx, req, how)
			return
		}
		p, err = k.admit(ctx, &req, how, &taken)
	}
	if err != nil {
		k.refuse(ctx, err)
		return
	}
	k.respond(ctx, p, how)
}

// withoutStream changes a request to the mode that it has where there is no stream.
func (k collection) withoutStream(ctx *fasthttp.RequestCtx, req *predict.Request, raw *[]byte) answerMode {
	how := readPrefer(&ctx.Request.Header)
	if how.raw = raw; raw == nil && req.Body == nil && how.mode == predict.Async {
		how = answerMode{} // the queue would need the form as it came
	}
	req.Mode = how.modeOf()
	return how
}

// put answers PUT: like create, but if the id is in flight the client joins that prediction.
func (k collection) put(ctx *fasthttp.RequestCtx) {
	id, ok := pathID(ctx)
	if !ok || k.unserved() {
		k.notFound(ctx)
		return
	}
	if err := k.checkID(id); err != nil {
		k.refuse(ctx, err)
		return
	}
	var req predict.Request
	how, err := k.read(ctx, &req)
	taken := false
	defer k.discard(&req, &taken)
	if err == nil && req.ID != "" && req.ID != id {
		var bad request.Problems
		bad.Add(k.noun+" ID must match the ID supplied in the URL", "body", "id")
		err = bad.Err()
	}
	if err != nil {
		k.refuse(ctx, err)
		return
	}
	req.ID, req.Idempotent = id, true
	k.identify(&req)
	if k.replay(ctx, &req, how) {
		return
	}
	if k.queues(how) {
		if p := k.to.Holder(k.kind, id).Find(k.kind, id); p == nil || p.Request.Attempt > 0 || !k.join(ctx, id, how) {
			k.enqueue(ctx, req, how)
		}
		return
	}
	if k.joinQueued(ctx, &req, how) {
		return
	}
	for range maxJoins {
		// For a stream, Create is called first: it checks whether the model streams.
		if how.mode != predict.Stream && k.join(ctx, id, how) {
			return
		}
		p, err := k.admit(ctx, &req, how, &taken)
		refused := predict.RefusalOf(err).Kind
		switch {
		case how.orObject && refused == predict.RefusedStream:
			how = k.withoutStream(ctx, &req, how.raw)
			if k.replay(ctx, &req, how) {
				return
			}
			if k.queues(how) {
				k.enqueue(ctx, req, how)
				return
			}
		case err == nil:
			k.respond(ctx, p, how)
			return
		case refused == predict.RefusedStream, refused == predict.RefusedTraining:
			k.refuse(ctx, err)
			return
		case k.join(ctx, id, how): // in flight: the error of this request does not matter
			return
		case !errors.Is(err, predict.ErrInFlight):
			k.refuse(ctx, err)
			return
		}
	}
	k.refuse(ctx, predict.ErrInFlight)
}

// admit makes the prediction of a request that does not end with an immediate answer: here, or in the queue.
func (k collection) admit(ctx *fasthttp.RequestCtx, req *predict.Request, how answerMode,
	taken *bool,
) (*predict.Prediction, error) {
	if k.queue == nil || !k.queueing.All {
		p, err := k.to.Assign(*req)
		if err == nil || k.queue == nil || !k.queueing.Overflow ||
			predict.RefusalOf(err).Reason() != predict.ReasonCapacity {
			*taken = err == nil
			return p, err
		}
	}
	s := k.submission(ctx, *req, how)
	if s.Request.Deadline.IsZero() && !how.bounded { // else it goes on after the client's wait
		if wait := k.queueing.Wait(); wait > 0 {
			s.Request.Deadline = time.Now().Add(wait)
		}
	}
	return k.queue().Submit(s, how.bounded)
}

// discard removes the files of a request that became no prediction, and frees its memory.
func (s *Server) discard(req *predict.Request, taken *bool) {
	if *taken {
		return
	}
	if req.Attachments != nil {
		req.Attachments.Close()
	}
	if req.Disk != nil {
		req.Disk.Unmap(true)
	}
	s.opt.Memory.Free(req.Charged)
}

// maxJoins bounds how often a PUT retries because the prediction in flight ended before it could join.
const maxJoins = 100

// get answers GET with the state of a prediction.
func (k collection) get(ctx *fasthttp.RequestCtx) {
	if k.unserved() {
		k.notFound(ctx)
		return
	}
	if id, ok := pathID(ctx); ok {
		if p, rec, ok := k.local(id); ok {
			rec.Members = p.Calls(time.Now()).AppendTo(rec.Members)
			k.answerKept(ctx, p, &rec)
			return
		}
		if k.getQueued(ctx, id, fasthttp.StatusOK) {
			return
		}
	}
	k.detail(ctx, fasthttp.StatusNotFound, k.title+" not found")
}

// cancel answers at once. The request that created the prediction gets its result.
func (k collection) cancel(ctx *fasthttp.RequestCtx) {
	if k.unserved() {
		k.notFound(ctx)
		return
	}
	id, ok := pathID(ctx)
	canceled, err := false, error(nil)
	if ok {
		canceled, err = k.cancelAny(id)
	}
	switch {
	case canceled:
		literal(ctx, fasthttp.StatusOK, "{}")
	case err != nil:
		k.refuse(ctx, err)
	default:
		literal(ctx, fasthttp.StatusNotFound, "{}")
	}
}

// unserved reports whether the model lacks this kind.
func (k collection) unserved() bool {
	return k.kind == predict.KindTraining && !k.to.Model().HasTraining()
}

// read reads the headers and the body of a create request into req.
func (k collection) read(ctx *fasthttp.RequestCtx, req *predict.Request) (answerMode, error) {
	if k.unserved() {
		return answerMode{}, predict.ErrNoTraining
	}
	h := &ctx.Request.Header
	form, encoding, err := formOf(h)
	if err != nil {
		return answerMode{}, err
	}
	var how answerMode
	if transport.HasSeen(ctx, transport.SeenAccept|transport.SeenPrefer) {
		how = readMode(h)
	}
	if form == request.JSON && encoding == plain {
		var body received
		if body, err = k.takeBody(ctx); err == nil {
			err = body.read(req, len(h.ContentType()) > 0)
		}
	} else {
		err = k.readOther(ctx, req, form, encoding, &how)
	}
	if err != nil {
		return answerMode{}, err
	}
	meta, err := k.meta(ctx)
	if err != nil {
		return answerMode{}, err
	}
	meta.For(req)
	if k.kind == predict.KindTraining && how.orObject {
		raw := how.raw
		how = readPrefer(h)
		how.raw = raw
	}
	req.Kind, req.Mode = k.kind, how.modeOf()
	req.WantFile = transport.HasSeen(ctx, transport.SeenAccept) && rendered(h, true) == asFile
	if k.kind == predict.KindTraining && how.mode == predict.Stream {
		return how, predict.ErrTrainingStream
	}
	return how, nil
}

// join answers a PUT with the prediction in flight with that id; false means there is none.
func (k collection) join(ctx *fasthttp.RequestCtx, id string, how answerMode) bool {
	p := k.to.Holder(k.kind, id).Find(k.kind, id)
	if p == nil {
		return false
	}
	if how.mode == predict.Stream {
		p.Hold()
		sub, err := p.Subscribe()
		switch {
		case err == nil:
			k.stream(ctx, p, sub, nil)
			return true
		case errors.Is(err, predict.ErrNotObserved): // it ended meanwhile, and its events are freed
			p.Release()
			return false
		default:
			p.Release()
			k.refuse(ctx, err)
			return true
		}
	}
	p, rec, ok := k.to.Holder(k.kind, id).Result(k.kind, id)
	if !ok {
		return false // it ended meanwhile, and is not retained
	}
	k.writeObject(ctx, &rec, p)
	restate(ctx, fasthttp.StatusAccepted)
	return true
}
