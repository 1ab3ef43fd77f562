package httpd

import (
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/request"
)

// JobQueue keeps accepted predictions until they have ended, on whichever server of the model they run.
type JobQueue interface {
	// Accept stores a prediction. The error is one of Service.Create's, *predict.UnavailableError or
	// *predict.InDoubtError.
	Accept(s request.Submission) (request.Accepted, error)
	// Find returns the prediction object of an accepted prediction, or of one that another server runs without the
	// queue; nil means none is known. If calls, that of an accepted prediction has its calls of other models while it
	// runs, too. release is called after its last use.
	Find(kind predict.Kind, id string, calls bool) (object []byte, release func(), err error)
	// Submit is Accept for a client that waits: what it returns represents the accepted prediction, wherever that runs.
	// If outlives, the prediction goes on when this server is lost.
	Submit(s request.Submission, outlives bool) (*predict.Prediction, error)
	// Attach returns a prediction that represents an accepted one, for a client that only reads, or nil if none is
	// known. It waits for a queue that does not answer only where the answer is needed.
	Attach(kind predict.Kind, id string, needed bool) (*predict.Prediction, error)
	// AttachDirect does the same for a prediction that another server runs without the queue.
	AttachDirect(kind predict.Kind, id string) *predict.Prediction
	// Cancel cancels an accepted prediction, or one of this or another server without the queue; false means none is
	// known, or it has ended otherwise.
	Cancel(kind predict.Kind, id string) (bool, error)
}

// QueueOptions say which requests go to a queue.
type QueueOptions struct {
	// Overflow means that a request for which no slot is free waits in the queue, for Wait() at most; 0 means forever.
	// A request with Prefer: wait=N is accepted, and Wait does not end it.
	Overflow bool
	Wait     func() time.Duration
	// All means that every request goes to the queue, because this server has no model.
	All bool
}

// keeps reports whether a body may be needed as it came.
func (a *api) keeps(how answerMode) bool {
	return a.queues(how) || a.queue != nil && (a.queueing.Overflow || a.queueing.All)
}

// joinQueued answers a PUT with an accepted prediction of its id; false means there is none.
func (k collection) joinQueued(ctx *fasthttp.RequestCtx, req *predict.Request, how answerMode) bool {
	id := req.ID
	if k.queue == nil || k.to.Holder(k.kind, id).Find(k.kind, id) != nil {
		return false
	}
	p, _ := k.queue().Attach(k.kind, id, k.queueing.All) // without an answer a server runs it here
	if p == nil && how.mode == predict.Stream {
		p = k.queue().AttachDirect(k.kind, id)
	}
	switch {
	case p == nil:
		return false
	case predict.OtherInput(req.Digest, p.Request.Digest):
		p.Release()
		k.refuse(ctx, predict.ErrOtherInput)
	case how.mode == predict.Stream:
		k.streamNew(ctx, p)
	default:
		p.Release()
		return k.getQueued(ctx, id, fasthttp.StatusAccepted)
	}
	return true
}

// queues reports whether a request goes to the queue.
func (a *api) queues(how answerMode) bool { return a.queue != nil && how.mode == predict.Async }

// submission returns a request for the queue.
func (k collection) submission(ctx *fasthttp.RequestCtx, req predict.Request, how answerMode) request.Submission {
	s := request.Submission{Request: req, ContentType: string(ctx.Request.Header.ContentType())}
	switch {
	case how.raw != nil:
		s.Body = *how.raw
	case req.Disk != nil:
		s.Body = req.Disk.(*memory.Mapping).Data
	default:
		s.Body = req.Body
	}
	if req.Trace != nil { // the server that runs it goes on with the trace
		s.Request.TraceParent, s.Request.TraceState = req.Trace.Passed(req.Trace.Request())
	}
	return s
}

func (k collection) enqueue(ctx *fasthttp.RequestCtx, req predict.Request, how answerMode) {
	a, err := k.queue().Accept(k.submission(ctx, req, how))
	if err != nil {
		k.refuse(ctx, err)
		return
	}
	if k.access != nil {
		ctx.SetUserValue(idKey{}, a.ID)
	}
	warn(ctx, a.Warnings)
	body := a.Object
	if body == nil {
		body = startingObject(a.ID)
	}
	ctx.SetStatusCode(fasthttp.StatusAccepted)
	sendObject(ctx, body, a.Release)
}

// sendObject answers with a prediction object. release, if not nil, is called after its last use.
func sendObject(ctx *fasthttp.RequestCtx, object []byte, release func()) {
	ctx.Response.Header.SetContentType(contentJSON)
	if len(object) <= maxReused || release == nil { // a small one is not charged
		ctx.Response.SetBodyRaw(object)
		if release != nil {
			release()
		}
		return
	}
	ctx.Response.SetBodyStream(&sliceBody{parts: [3][]byte{object}, release: release}, len(object))
}

// local returns the prediction that this server can answer for: the queue knows better how its own ones ended.
func (k collection) local(id string) (*predict.Prediction, predict.Record, bool) {
	p, rec, ok := k.to.Holder(k.kind, id).Result(k.kind, id)
	if ok && k.queue != nil && p.Request.Attempt > 0 && rec.Status.Terminal() {
		p.Release()
		return nil, predict.Record{}, false
	}
	return p, rec, ok
}

// getQueued answers with a prediction of the queue, and that status; false means it has none of that id. A kept result
// is 200 to a PUT too, where it is replayed.
func (k collection) getQueued(ctx *fasthttp.RequestCtx, id string, status int) bool {
	if k.queue == nil {
		return false
	}
	object, release, err := k.queue().Find(k.kind, id, ctx.QueryArgs().Has("calls"))
	switch {
	case err != nil:
		k.refuse(ctx, err)
	case object == nil:
		return false
	default:
		if k.opt.ReplayPuts && hasEnded(object) {
			status = fasthttp.StatusOK
		}
		sendObject(ctx, object, release)
		restate(ctx, status)
	}
	return true
}

// hasEnded reports whether a prediction object is of one that has ended.
func hasEnded(object []byte) bool {
	for key, value := range rawjson.Members(object) {
		if rawjson.KeyIs(key, "status") {
			text := rawjson.Text(value)
			return text != predict.Starting.String() && text != predict.Processing.String()
		}
	}
	return false
}

// cancelAny cancels the prediction of that id, wherever it is.
func (k collection) cancelAny(id string) (bool, error) {
	if k.queue == nil {
		return k.to.Holder(k.kind, id).Cancel(k.kind, id), nil
	}
	if p := k.to.Holder(k.kind, id).Find(k.kind, id); p != nil && p.Request.Attempt == 0 {
		return k.to.Holder(k.kind, id).Cancel(k.kind, id), nil
	}
	return k.queue().Cancel(k.kind, id)
}
