package openai

import (
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
)

// Dialect is another API for what chat functions do, such as OpenAI's Responses. It translates a request into one of
// chat completions, and the message of the answer back.
type Dialect struct {
	// Path is that of its POST.
	Path string
	// Read translates a request.
	Read func(header *fasthttp.RequestHeader, body []byte) (Dialog, *Error)
	// Refuse answers with an error.
	Refuse func(ctx *fasthttp.RequestCtx, err *Error)
	// Count appends the answer of a path that counts the tokens of a request, and does not answer it; nil means the path
	// answers requests.
	Count func(dst []byte, tokens int64) []byte
}

// Dialog is one request of a dialect, and writes its answer. One goroutine uses it.
type Dialog interface {
	// Chat returns the request's body as that of a chat completion.
	Chat() []byte
	// Answer appends the answer that is not a stream.
	Answer(dst []byte, h Head, m *Message, u Usage) ([]byte, *Error)
	// Begin appends the events before the message, Delta those of a part of it, End those after it, and Fail those of a
	// stream that failed.
	Begin(dst []byte, h Head) []byte
	Delta(dst []byte, d *Delta) []byte
	End(dst []byte, f Finish, u Usage) []byte
	Fail(dst []byte, err *Error) []byte
	// Ping appends what keeps a silent stream open.
	Ping(dst []byte) []byte
	// Stops returns stop sequences at which the server ends the text; nil means those of Chat are all.
	Stops() []string
	// Notes returns the parameters that only tune or label the answer, and what was left out of the request, which the
	// client is told.
	Notes() (labels, left []string)
	// Param returns the dialect's name for a parameter of chat completions.
	Param(name string) string
}

// DialectRoutes returns the routes of dialects. strict is that of New.
func DialectRoutes(models protocol.Models, strict bool, dialects ...Dialect) []protocol.Route {
	return newHandlers(models, strict).dialectRoutes(dialects)
}

func (h *handlers) dialectRoutes(dialects []Dialect) (routes []protocol.Route) {
	for _, d := range dialects {
		routes = append(routes, protocol.Route{
			Method: fasthttp.MethodPost, Path: d.Path, Handle: func(x *protocol.Exchange) { h.converse(x, d) },
			For: answers(Chat),
		})
	}
	return routes
}

// converse answers a request of a dialect.
func (h *handlers) converse(x *protocol.Exchange, d Dialect) {
	q, err := h.readDialog(x, d)
	switch {
	case err != nil:
	case d.Count != nil:
		err = q.count(d)
	default:
		err = q.respond()
	}
	if err != nil {
		if q.dialog != nil {
			err.rename(q.dialog.Param(err.Param))
		}
		d.Refuse(x.RequestCtx, err)
		q.report(err.Status, nil, 0)
	}
}

// readDialog reads a request of a dialect and finds its model.
func (h *handlers) readDialog(x *protocol.Exchange, d Dialect) (q *request, err *Error) {
	q = h.newRequest(x)
	defer func() {
		if err != nil {
			q.drop()
		}
	}()
	if err = q.readBody(2); err != nil { // the translation, and what it is made of
		return q, err
	}
	if q.dialog, err = d.Read(&x.Request.Header, q.call.Body.Data); err != nil {
		return q, err
	}
	b, err := ParseJSON(q.dialog.Chat())
	if err != nil {
		return q, err
	}
	b.labels, _ = q.dialog.Notes()
	return q, h.prepare(q, b, Chat, d.Path)
}

// dialogRenderer writes the items of a run in a dialect. It is a protocol.Renderer.
type dialogRenderer struct {
	q      *request
	run    *protocol.Run
	reader *Reader
	began  bool
	bad    *Error // an item that the endpoint does not have
	items  int64
	first  time.Time
}

// Kept implements protocol.Keeper.
func (r *dialogRenderer) Kept() int {
	if keeper, ok := r.q.dialog.(protocol.Keeper); ok {
		return keeper.Kept()
	}
	return 0
}

func (r *dialogRenderer) begin(dst []byte) []byte {
	if r.began {
		return dst
	}
	r.began = true
	return r.q.dialog.Begin(dst, r.q.head)
}

// Item appends the events of an item.
func (r *dialogRenderer) Item(dst, item []byte) ([]byte, bool) {
	if r.items++; r.items == 1 {
		r.first = time.Now()
	}
	dst = r.begin(dst)
	stopped, err := r.reader.Item(item, func(d *Delta) { dst = r.q.dialog.Delta(dst, d) })
	if err != nil {
		r.bad = err
		return dst, false
	}
	return dst, !stopped
}

// Ping appends what keeps the stream open.
func (r *dialogRenderer) Ping(dst []byte) []byte { return r.q.dialog.Ping(r.begin(dst)) }

// End appends the end of the stream.
func (r *dialogRenderer) End(dst []byte, err *protocol.Error) []byte {
	dst = r.begin(dst)
	if err != nil {
		r.bad = ErrorOf(err)
	}
	if r.bad == nil {
		r.bad = r.reader.End(func(d *Delta) { dst = r.q.dialog.Delta(dst, d) })
	}
	if r.bad != nil {
		r.q.reportStream(r.bad.Status, r.items, r.first, 0)
		return r.q.dialog.Fail(dst, r.bad)
	}
	r.run.Settle()
	u := r.q.Usage(resultsOf(r.run, 1))
	r.q.reportStream(fasthttp.StatusOK, r.items, r.first, u.Completion)
	return r.q.dialog.End(dst, r.reader.Finish(), u)
}

// answerDialog answers with a result: the whole message, or a stream of a function that does not iterate.
func (q *request) answerDialog(result Result) *Error {
	reader := q.NewReader()
	message := &Message{}
	var events []byte
	emit := message.add
	if q.Stream {
		events = q.dialog.Begin(nil, q.head)
		emit = func(d *Delta) { events = q.dialog.Delta(events, d) }
	}
	if err := reader.Output(result.Output, emit); err != nil {
		return err
	}
	u := q.Usage([]Result{result})
	message.Finish = reader.Finish()
	if q.Stream {
		q.x.Response.Header.Set(fasthttp.HeaderCacheControl, "no-cache")
		q.x.Send(contentStream, q.dialog.End(events, message.Finish, u))
	} else {
		body, err := q.dialog.Answer(nil, q.head, message, u)
		if err != nil {
			return err
		}
		q.x.Send(ContentJSON, body)
	}
	q.report(fasthttp.StatusOK, nil, 0)
	return nil
}

// answers returns whether the function in a document answers an endpoint.
func answers(e Endpoint) func(document []byte) bool {
	return func(document []byte) bool {
		f, err := ReadFunction(document)
		return err == nil && f != nil && f.Endpoint == e
	}
}

// otherModel returns the error of a model whose function does not answer a path.
func (q *request) otherModel(name, path string, e Endpoint) *Error {
	does := `its function has no @cog.openai("` + e.String() + `")`
	if q.function != nil {
		does = "it answers " + q.function.Endpoint.Path()
	}
	return &Error{
		Status: fasthttp.StatusNotFound, Type: TypeInvalid, Param: "model",
		Message: "The model '" + logtext.Clip(name) + "' does not answer " + path + ": " + does + ".",
	}
}
