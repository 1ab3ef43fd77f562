package openai

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/instances"
	"pinion/httpd/protocol"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
)

const (
	contentStream   = "text/event-stream"
	headerRequestID = "X-Request-Id"
	// headerRetry tells OpenAI's clients whether to repeat a failed request; without it they repeat each 500.
	headerRetry = "X-Should-Retry"
)

// handlers are the handlers of the protocol's routes.
type handlers struct {
	models protocol.Models
	strict bool

	mu        sync.Mutex
	functions map[*protocol.Model]known
}

// known is a model's function, as its document at that time has it.
type known struct {
	document []byte
	function *Function
}

func newHandlers(models protocol.Models, strict bool) *handlers {
	return &handlers{models: models, strict: strict, functions: map[*protocol.Model]known{}}
}

// New returns the protocol for these models, with dialects that are OpenAI's too. strict means that parameters that
// only self-hosted servers know are refused.
func New(models protocol.Models, strict bool, dialects ...Dialect) protocol.Protocol {
	h := newHandlers(models, strict)
	routes := instances.ModelListRoutes(models,
		func(ctx *fasthttp.RequestCtx, err *protocol.Error) { Refuse(ctx, ErrorOf(err)) })
	for _, e := range Endpoints() {
		routes = append(routes, protocol.Route{
			Method: fasthttp.MethodPost, Path: e.Path(), Handle: func(x *protocol.Exchange) { h.run(x, e) },
			For: answers(e),
		})
	}
	routes = append(routes, protocol.Route{
		Method: fasthttp.MethodPost, Path: cohereRerank, Handle: func(x *protocol.Exchange) { h.run(x, Rerank) },
		For: answers(Rerank),
	}, protocol.Route{
		Method: fasthttp.MethodPost, Path: plainRerank, Handle: func(x *protocol.Exchange) { h.run(x, Rerank) },
		For: answers(Rerank), Document: Rerank.Path(),
	})
	routes = append(routes, h.dialectRoutes(dialects)...)
	return protocol.Protocol{
		Name: protocol.OpenAI, Routes: routes, Prefixes: []string{"/v1", cohereRerank, plainRerank},
		Refuse: func(ctx *fasthttp.RequestCtx, err *protocol.Error) {
			e := ErrorOf(err)
			if e.Param = ""; e.Code == CodeModelNotFound { // no handler saw the request: an unknown path is not an unknown model
				e.Code = ""
			}
			Refuse(ctx, e)
		},
	}
}

// run answers a request to an endpoint.
func (h *handlers) run(x *protocol.Exchange, e Endpoint) {
	q, err := h.read(x, e)
	if err == nil {
		err = q.respond()
	}
	if err != nil {
		Refuse(x.RequestCtx, err)
		q.report(err.Status, nil, 0)
	}
}

// request is one request while it is answered.
type request struct {
	*Request
	x        *protocol.Exchange
	model    *protocol.Model
	function *Function
	call     protocol.Call
	head     Head
	dialog   Dialog // of a dialect; nil means it is a request of its endpoint
	began    time.Time
	observe  func(metrics.Generation) // nil means not wanted
}

// respond answers a request. An error means that nothing is written yet.
func (q *request) respond() *Error {
	x := q.x
	cuts := len(q.Stop) > 0 && q.function.Iterates // so the model is canceled at a stop sequence
	q.call.Stream = q.function.Iterates && q.Stream || cuts
	run, failed := x.Begin(q.model, q.call)
	if failed != nil {
		return q.errorOf(failed)
	}
	id := run.ID()
	x.Response.Header.Set(headerRequestID, id)
	q.head = Head{ID: id, Created: time.Now().Unix(), Model: q.model.Name}
	switch {
	case q.Stream && q.function.Iterates:
		if failed := x.Stream(run, contentStream, q.renderer(run)); failed != nil {
			return q.errorOf(failed)
		}
		return nil
	case cuts:
		return q.collect(run)
	}
	answers, failed := x.Wait(run)
	if failed != nil {
		return q.errorOf(failed)
	}
	defer answers.Release()
	if file := answers.List[0].File; file != nil {
		if err := q.wanted.check(file.Type); err != nil {
			return err
		}
		answers.SendFile(q.x)
		q.report(fasthttp.StatusOK, nil, 0)
		return nil
	}
	results := make([]Result, len(answers.List))
	for i := range answers.List {
		results[i] = Result{answers.List[i].Output, answers.List[i].Metrics}
	}
	return q.send(results)
}

// renderer returns what writes the stream of a run.
func (q *request) renderer(run *protocol.Run) protocol.Renderer {
	if q.dialog != nil {
		return &dialogRenderer{q: q, run: run, reader: q.NewReader()}
	}
	if q.Endpoint == Speech {
		return &speechRenderer{q: q, run: run}
	}
	return &renderer{q: q, run: run, chunks: q.NewChunks(q.head)}
}

func (h *handlers) newRequest(x *protocol.Exchange) *request {
	return &request{x: x, began: x.Time(), observe: x.OnGeneration()}
}

// drop frees what a request holds that is not carried out.
func (q *request) drop() {
	q.call.Body.Release()
	if q.call.Attachments != nil {
		q.call.Attachments.Close()
	}
}

// read reads a request and finds its model.
func (h *handlers) read(x *protocol.Exchange, e Endpoint) (q *request, err *Error) {
	q = h.newRequest(x)
	defer func() {
		if err != nil {
			q.drop()
		}
	}()
	b, err := q.parse(e)
	if err != nil {
		return q, err
	}
	return q, h.prepare(q, b, e, string(x.Path()))
}

// prepare finds the model and the function for a request's parameters, and makes its call. path is that of the request.
func (h *handlers) prepare(q *request, b *Body, e Endpoint, path string) *Error {
	name, err := b.Model()
	if err != nil {
		return err
	}
	if q.model, err = h.find(q, name); err != nil {
		return err
	}
	if q.function, err = h.function(q.model); err != nil {
		return err
	}
	if q.function == nil || q.function.Endpoint != e {
		return q.otherModel(name, path, e)
	}
	if q.Request, err = q.function.Read(b, q.charge); err != nil {
		return err
	}
	if q.dialog != nil && len(q.dialog.Stops()) > 0 {
		if err := q.chargeStops(q.dialog.Stops()); err != nil {
			return err
		}
		q.setStop(q.dialog.Stops())
	}
	q.warn()
	q.call.Inputs, q.call.Form, q.call.Copied = q.Inputs, q.Form, q.copied
	q.returns = q.returns && path != cohereRerank // whose answers have none
	q.call.WantFile = e == Speech && !q.function.Iterates && q.format == "audio"
	if q.x.Sampled() {
		q.call.Span = q.spanAttrs(b, q.model.Name)
	}
	return nil
}

// nameless is what Hugging Face's client sends for a server that it knows no model of.
const nameless = "dummy"

// find finds the model of a name. A client without a name gets the only model of a server.
func (h *handlers) find(q *request, name string) (*protocol.Model, *Error) {
	m, failed := h.models.Find(name, "")
	if failed == nil {
		return m, nil
	}
	list := h.models.List()
	switch {
	case name != "" && name != nameless:
		return nil, ErrorOf(failed)
	case len(list) == 1:
		q.x.Response.Header.Add(protocol.HeaderWarning,
			"the request names no model of this server, which has one: "+strconv.Quote(list[0].Name))
		return list[0], nil
	case name == "":
		return nil, Missing("model")
	}
	return nil, ErrorOf(failed)
}

// chargeStops charges what it takes to look for stop sequences: four bytes for each of theirs.
func (q *request) chargeStops(stops []string) *Error {
	size := int64(0)
	for _, s := range stops {
		size += 4 * int64(len(s))
	}
	if size <= protocol.FewBytes {
		return nil
	}
	return q.charge(size)
}

// warn tells the client what was ignored, and what was left out.
func (q *request) warn() {
	var left []string
	if q.dialog != nil {
		for i, name := range q.ignored {
			q.ignored[i] = q.dialog.Param(name)
		}
		_, left = q.dialog.Notes()
	}
	h := &q.x.Response.Header
	if w := q.Warning(); w != "" {
		h.Add(protocol.HeaderWarning, w)
	}
	if len(left) > 0 {
		h.Add(protocol.HeaderWarning, "left out: "+strings.Join(left, ", "))
	}
}

// charge charges bytes more for what is made of the body.
func (q *request) charge(bytes int64) *Error {
	if err := q.x.Charge(&q.call.Body, bytes); err != nil {
		return ErrorOf(err)
	}
	return nil
}

func (q *request) parse(e Endpoint) (*Body, *Error) {
	if e == Transcriptions {
		form, failed := q.x.Form()
		if failed != nil {
			return nil, ErrorOf(failed)
		}
		q.call.Body = form.Body
		if form.Attachments != nil {
			q.call.Attachments = form.Attachments
		}
		return ParseForm(form.Fields), nil
	}
	if err := q.readBody(0); err != nil {
		return nil, err
	}
	return ParseJSON(q.call.Body.Data)
}

// readBody reads the request's body, of which so many copies are made. One that came as another type than JSON must be
// JSON anyway.
func (q *request) readBody(copies int64) *Error {
	body, failed := q.x.BodyToCopy(copies)
	if failed != nil {
		return ErrorOf(failed)
	}
	q.call.Body = body
	if text := q.x.NotJSON(body.Data); text != "" {
		return invalid("", "", "The request's body cannot be read: "+text+".")
	}
	return nil
}

// function returns a model's function, or nil if it has no @cog.openai.
func (h *handlers) function(m *protocol.Model) (*Function, *Error) {
	document, ok := m.LoadOpenAPI()
	if !ok {
		err := m.Ready()
		if err == nil {
			err = &predict.NotReadyError{Reason: "the model has no schema yet"}
		}
		return nil, ErrorOf(protocol.ErrorOf(err))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if k := h.functions[m]; len(k.document) == len(document) && &k.document[0] == &document[0] {
		return k.function, nil
	}
	f, err := ReadFunction(document)
	if err != nil {
		return nil, BadOutput(err.Error())
	}
	if f != nil {
		f.Strict = h.strict
	}
	h.functions[m] = known{document, f}
	return f, nil
}

// collect answers with the items of a run, which ends at a stop sequence.
func (q *request) collect(run *protocol.Run) *Error {
	defer run.Release()
	stop, failed := q.x.Follow(run)
	if failed != nil {
		return q.errorOf(failed)
	}
	defer stop()
	results, err := q.follow(run)
	if err != nil {
		return q.errorOf(err)
	}
	return q.send(results)
}

// send writes the answer for these results.
func (q *request) send(results []Result) *Error {
	if q.dialog != nil {
		return q.answerDialog(results[0])
	}
	if q.Stream {
		return q.sendChunks(results)
	}
	body, contentType, err := q.Answer(q.head, results)
	if err != nil {
		return err
	}
	if q.untimed {
		q.x.Response.Header.Add(protocol.HeaderWarning, "the transcript has no segments: the model returns text alone")
	}
	q.x.Send(contentType, body)
	q.report(fasthttp.StatusOK, nil, 0)
	return nil
}

// sendChunks writes the stream of a function that does not iterate.
func (q *request) sendChunks(results []Result) (err *Error) {
	chunks := q.NewChunks(q.head)
	var out []byte
	for i := range results {
		if out, err = chunks.Output(out, i, results[i].Output); err != nil {
			return err
		}
		if out, err = chunks.End(out, i); err != nil {
			return err
		}
	}
	q.x.Response.Header.Set(fasthttp.HeaderCacheControl, "no-cache")
	q.x.Send(contentStream, chunks.Done(out, q.Usage(results)))
	q.report(fasthttp.StatusOK, nil, 0)
	return nil
}
