package protocol

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/body"
	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/request"
)

// HeaderWarning is the header of an answer that tells its client what was ignored.
const HeaderWarning = "Pinion-Warning"

// Names of the protocols, as --protocols has them.
const (
	OIP       = "oip"
	OpenAI    = "openai"
	KServe    = "kserve-v1"
	Vertex    = "vertex"
	SageMaker = "sagemaker"
	Anthropic = "anthropic"
	Replicate = "replicate"
	MCP       = "mcp"
)

// BinaryHeader is the header of a request with binary tensors. Its value is the length of the JSON before them.
const BinaryHeader = "Inference-Header-Content-Length"

// Names returns the names of all protocols.
func Names() []string {
	return []string{OIP, OpenAI, KServe, Vertex, SageMaker, Anthropic, Replicate, MCP}
}

// Protocol is the routes of one protocol.
type Protocol struct {
	Name   string
	Routes []Route
	// Refuse answers a request that reached no handler: its body is too large, its token is wrong, or its method or
	// path is unknown. The request's path is below one of Prefixes. The protocol with the longest matching prefix
	// answers.
	Refuse   func(ctx *fasthttp.RequestCtx, err *Error)
	Prefixes []string
	// Owns reports whether a path belongs to the protocol although another protocol has a prefix of it; nil means no
	// path does.
	Owns func(path string) bool
	// Probes are the paths for which GET never requires a token (--auth-token-file).
	Probes []string
	// Signed are the prefixes of the paths for which GET requires no token if it has a signature (Jobs.Signature).
	Signed []string
}

// Route is one route. The native routes are matched first, unless it replaces one. If two protocols have the same
// route, the first one answers.
type Route struct {
	Method string // "GET" answers HEAD too
	Path   string // a pattern of fasthttp/router: /v2/models/{model}
	Handle func(x *Exchange)
	// Replaces means that the route takes its path over if the native API has the same path.
	Replaces bool
	// Private means that no page of another origin may read the answer to a GET.
	Private bool
	// Document is the route's path in httpd/openapi/protocols.json, which describes it; "" means Path.
	Document string
	// For reports whether a model with that OpenAPI document answers; nil means every model does.
	For func(document []byte) bool
}

// Host is what an Exchange needs of the HTTP server; httpd implements it.
type Host interface {
	Jobs
	// ReadBody reads and inflates the body, and charges so many bytes more for each of its bytes, if it has more than
	// FewBytes.
	ReadBody(ctx *fasthttp.RequestCtx, more int64) (Body, *Error)
	// ReadForm reads a multipart/form-data body, whose files are stored on disk.
	ReadForm(ctx *fasthttp.RequestCtx) (Form, *Error)
	// WantsStream reports whether Accept lists a stream and does not prefer an object. iterates means that the model
	// yields items; if it does not, an acceptable object is preferred.
	WantsStream(ctx *fasthttp.RequestCtx, iterates bool) bool
	// Watch cancels r if the client disconnects before the returned function is called. It must be called.
	Watch(ctx *fasthttp.RequestCtx, r *Run) (stop func())
	// SendStream writes the items of r, on which Follow was called, and releases it. If r is refused before its first
	// item, SendStream returns the error and writes nothing.
	SendStream(ctx *fasthttp.RequestCtx, r *Run, contentType string, to Renderer) *Error
	// SendEvents writes the events of r, a call with Stream of one row, and releases it. If r is refused before its first
	// event, SendEvents returns the error and writes nothing.
	SendEvents(ctx *fasthttp.RequestCtx, r *Run, to EventRenderer) *Error
	// SendFeed answers with a stream of events that no prediction makes. next appends those that are due: it is called at
	// once, then every second, and with last when the server ends.
	SendFeed(ctx *fasthttp.RequestCtx, next func(dst []byte, last bool) []byte)
	// SendParts answers with parts, which are not copied if they are large. made is how many bytes of them are charged to
	// nothing yet. of, if not nil, is released after their last use.
	SendParts(ctx *fasthttp.RequestCtx, contentType string, parts [][]byte, made int, of memory.Owner)
	// SendFile answers with a file. of is released after its last use.
	SendFile(ctx *fasthttp.RequestCtx, file *predict.OutputFile, of memory.Owner)
	// Charge charges bytes to the memory budget for a request that holds some already, and waits until they are free.
	Charge(ctx *fasthttp.RequestCtx, held, bytes int64) *Error
	// Sampled reports whether spans of the request are sent.
	Sampled(ctx *fasthttp.RequestCtx) bool
	// Meta returns what the request's headers say about how it is to be carried out.
	Meta(ctx *fasthttp.RequestCtx) (request.Meta, error)
	// MayControl reports whether the client may load and unload models.
	MayControl(ctx *fasthttp.RequestCtx) bool
	// OnGeneration returns what Exchange.OnGeneration does.
	OnGeneration() func(metrics.Generation)
}

// Renderer writes a stream in a protocol's form. Its methods append to dst.
type Renderer interface {
	// Item appends one item. more is false if nothing after it is wanted: the model is canceled, and End is called with
	// nil.
	Item(dst, item []byte) (out []byte, more bool)
	// End appends what follows the last item; err is why the stream ended early, or nil.
	End(dst []byte, err *Error) []byte
}

// Pinger is a Renderer whose protocol has its own event for a silent stream.
type Pinger interface {
	// Ping appends that event.
	Ping(dst []byte) []byte
}

// Keeper is a Renderer that keeps bytes until the end of the stream.
type Keeper interface {
	// Kept returns how many, which are charged to the memory budget.
	Kept() int
}

// ByteRenderer is a Renderer of plain bytes, which, unlike events, have no place for an error.
type ByteRenderer interface {
	Renderer
	// ContentType returns the content type, which replaces that of SendStream. It is called after the first item.
	ContentType() string
	// Broken returns why the stream failed, or nil. It is called after End. If the stream failed, its connection is cut
	// off, unless nothing is sent yet.
	Broken() *Error
}

// RowsRenderer is a Renderer of several rows. If its Item wants no more, the row ends, and the next one follows.
type RowsRenderer interface {
	Renderer
	// NextRow appends what follows the last item of a row, unless it is the last row.
	NextRow(dst []byte) []byte
	// Done reports whether the other rows are not wanted either. It is called after an Item that wanted no more, and
	// after NextRow.
	Done() bool
}

// Exchange is one HTTP request of a protocol, and its answer.
type Exchange struct {
	*fasthttp.RequestCtx
	host Host
}

// NewExchange returns the exchange of a request.
func NewExchange(ctx *fasthttp.RequestCtx, host Host) *Exchange { return &Exchange{ctx, host} }

// Param returns a copy of a parameter of the route's path. It is unescaped, because clients escape such characters as
// blanks in names.
func (x *Exchange) Param(name string) string {
	segment, _ := x.UserValue(name).(string)
	value, err := url.PathUnescape(segment)
	if err != nil {
		value = segment
	}
	return strings.Clone(value)
}

// MediaType returns the type of the body, in lower case and without parameters, or "" if the client did not say.
func (x *Exchange) MediaType() string {
	media, _, _ := bytes.Cut(x.Request.Header.ContentType(), []byte{';'})
	return string(bytes.ToLower(bytes.TrimSpace(media)))
}

// MayControl reports whether the client may load and unload models.
func (x *Exchange) MayControl() bool { return x.host.MayControl(x.RequestCtx) }

// NotJSON says what is wrong with a body that is not JSON and came as another type; "" means nothing is.
func (x *Exchange) NotJSON(body []byte) string {
	media := x.MediaType()
	if media == "" || media == "application/json" || strings.HasSuffix(media, "+json") {
		return ""
	}
	if err := rawjson.Check(body); err != nil {
		return fmt.Sprintf("%v; the Content-Type is %.100q: must be application/json", err, media)
	}
	return ""
}

// Body reads the whole body, of any content type. The caller releases it, or gives it to a call.
func (x *Exchange) Body() (Body, *Error) { return x.host.ReadBody(x.RequestCtx, 0) }

// FewBytes is up to which size a body is not charged for what is made of it.
const FewBytes = body.Few

// BodyToCopy is Body for a body of which so many copies are made. They are charged with it, before it is read: requests
// that held their bodies and waited for the copies' memory would wait for each other.
func (x *Exchange) BodyToCopy(copies int64) (Body, *Error) {
	return x.host.ReadBody(x.RequestCtx, copies)
}

// WantsStream reports whether the client asks for a stream, of a model that iterates or does not.
func (x *Exchange) WantsStream(iterates bool) bool { return x.host.WantsStream(x.RequestCtx, iterates) }

// Form reads a multipart/form-data body. The caller releases it, or gives its parts to a call.
func (x *Exchange) Form() (Form, *Error) { return x.host.ReadForm(x.RequestCtx) }

// Follow starts a run that Begin returned for a call with Stream, and cancels it if the client disconnects before stop
// is called. The caller releases it.
func (x *Exchange) Follow(r *Run) (stop func(), err *Error) {
	if err := r.Follow(); err != nil {
		return nil, err
	}
	return x.host.Watch(x.RequestCtx, r), nil
}

// Sampled reports whether spans of the request are sent.
func (x *Exchange) Sampled() bool { return x.host.Sampled(x.RequestCtx) }

// Begin is Model.Begin with what the request's headers say. The caller calls Wait, Follow or Stream next.
func (x *Exchange) Begin(m *Model, c Call) (*Run, *Error) {
	id := c.RequestID
	var bad error
	if c.Meta, bad = x.host.Meta(x.RequestCtx); bad != nil {
		new(Run).drop(&c)
		return nil, ErrorOf(bad)
	}
	c.RequestID = cmp.Or(id, c.RequestID)
	if n := c.copied() + RowsCost(len(c.Inputs)); n > 0 {
		if err := x.Charge(&c.Body, n); err != nil {
			new(Run).drop(&c)
			return nil, err
		}
	}
	run, err := m.Begin(c)
	if err == nil {
		x.warn(run.ps)
	}
	return run, err
}

// maxWarnings is how many warnings an answer has.
const maxWarnings = 5

// warn tells the client which parts of its inputs were ignored, once for all predictions of a run.
func (x *Exchange) warn(ps []*predict.Prediction) {
	var told []string
	for _, p := range ps {
		for _, w := range p.Warnings {
			if len(told) < maxWarnings && !slices.Contains(told, w) {
				told = append(told, w)
				x.Response.Header.Add(HeaderWarning, w)
			}
		}
	}
}

// Charge charges more bytes to the memory budget, for what is made from a body.
func (x *Exchange) Charge(body *Body, bytes int64) *Error {
	if err := x.host.Charge(x.RequestCtx, body.Charged, bytes); err != nil {
		return err
	}
	body.Charged += bytes
	return nil
}

// Predict carries out a call, and cancels it if the client disconnects. The caller releases the answers.
func (x *Exchange) Predict(m *Model, c Call) (*Answers, *Error) {
	run, err := x.Begin(m, c)
	if err != nil {
		return nil, err
	}
	return x.Wait(run)
}

// Wait carries out a run that Begin returned, and cancels it if the client disconnects. After an error it has released
// the run.
func (x *Exchange) Wait(run *Run) (*Answers, *Error) {
	stop := x.host.Watch(x.RequestCtx, run)
	answers, err := run.Wait()
	stop()
	if err != nil {
		run.Release()
		return nil, err
	}
	return answers, nil
}

// Finish carries out a run of one prediction, and returns its record, even if the prediction failed. The caller
// releases the run after the last use of the record. An error is a refusal; then Finish has released the run.
func (x *Exchange) Finish(run *Run) (predict.Record, *Error) {
	stop := x.host.Watch(x.RequestCtx, run)
	rec, err := run.Finish()
	stop()
	if err != nil {
		run.Release()
	}
	return rec, err
}

// Stream writes the items of a run that Begin returned for a call with Stream, as they come, and releases it. An error
// means that nothing is written yet. Items that are available together are written together.
func (x *Exchange) Stream(r *Run, contentType string, to Renderer) *Error {
	if err := r.Follow(); err != nil {
		r.Release()
		return err
	}
	return x.host.SendStream(x.RequestCtx, r, contentType, to)
}

// StreamEvents writes the events of a run that Begin returned for a call of one row with Stream, as they come, and releases it.
// An error means that nothing is written yet.
func (x *Exchange) StreamEvents(r *Run, to EventRenderer) *Error {
	return x.host.SendEvents(x.RequestCtx, r, to)
}

// Feed answers with a stream of events that no prediction makes, as Host.SendFeed says.
func (x *Exchange) Feed(next func(dst []byte, last bool) []byte) { x.host.SendFeed(x.RequestCtx, next) }

// Send answers with parts that were made for this answer, which are not copied if they are large. Bytes that belong to
// Answers or to a Job are sent by those.
func (x *Exchange) Send(contentType string, parts ...[]byte) {
	made := 0
	for _, part := range parts {
		made += cap(part)
	}
	x.host.SendParts(x.RequestCtx, contentType, parts, made, nil)
}

// SendFile answers with a file. of is released after its last use.
func (x *Exchange) SendFile(file *predict.OutputFile, of memory.Owner) {
	x.host.SendFile(x.RequestCtx, file, of)
}

// Answer answers with the error. body is its JSON in the protocol's shape.
func (e *Error) Answer(ctx *fasthttp.RequestCtx, body []byte) {
	h := &ctx.Response.Header
	if seconds := e.RetryAfterSeconds(); seconds > 0 {
		h.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(seconds))
	}
	ctx.SetStatusCode(e.Status())
	for _, w := range e.Warnings {
		h.Add(HeaderWarning, w)
	}
	h.SetContentType("application/json")
	ctx.SetBody(body)
}

// RetryAfterSeconds returns how long a client should wait, in whole seconds, or 0 if that is not known.
func (e *Error) RetryAfterSeconds() int {
	if e.RetryAfter <= 0 {
		return 0
	}
	return int((e.RetryAfter + 999_999_999) / 1_000_000_000)
}

// OnGeneration returns the function that a protocol calls at the end of a generation, or nil if it is not wanted. It is
// called once, by any goroutine, also after the exchange.
func (x *Exchange) OnGeneration() func(metrics.Generation) { return x.host.OnGeneration() }

// Send answers with parts, of which some are the answers' own bytes. It takes the answers over: they are freed after the
// last byte, and Release does nothing more.
func (a *Answers) Send(x *Exchange, contentType string, parts ...[]byte) {
	made := 0
	for _, part := range parts {
		if !a.has(part) {
			made += cap(part)
		}
	}
	x.host.SendParts(x.RequestCtx, contentType, parts, made, a.run.take())
}

// SendFile answers with the file of the first answer, and takes the answers over as Send does.
func (a *Answers) SendFile(x *Exchange) { x.SendFile(a.List[0].File, a.run.take()) }

// has reports whether bytes are those of an answer.
func (a *Answers) has(part []byte) bool {
	for i := range a.List {
		if inside(part, a.List[i].Output) {
			return true
		}
		for _, t := range a.List[i].Tensors {
			if inside(part, t.Data) {
				return true
			}
		}
	}
	return false
}

// Send answers with parts, of which some are bytes of the output of a record that Finish returned. It takes the run over, as
// Answers.Send does.
func (r *Run) Send(x *Exchange, contentType string, output []byte, parts ...[]byte) {
	made := 0
	for _, part := range parts {
		if !inside(part, output) {
			made += cap(part)
		}
	}
	x.host.SendParts(x.RequestCtx, contentType, parts, made, r.take())
}
