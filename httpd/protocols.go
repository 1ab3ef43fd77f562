package httpd

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pinion/httpd/openapi"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/runtime/trace"
)

// protocols are the routes of the other protocols. A request comes here if no native route has its path. The native
// router knows nothing of them, so they cost its requests nothing.
type protocols struct {
	*Server
	list   []protocol.Protocol
	router *router.Router
	added  map[string]bool // the routes, by method and path
	shared memory.SharedPool
}

// maxIdleShared is how many bytes of shared memory that no request uses are kept at most.
const maxIdleShared = 64 << 20

// newProtocols returns the routes of s's protocols; nil: there are none.
func newProtocols(s *Server) *protocols {
	if len(s.opt.Protocols) == 0 {
		return nil
	}
	p := &protocols{Server: s, list: s.opt.Protocols, added: map[string]bool{}}
	p.shared.Idle = min(maxIdleShared, s.opt.Memory.Quarter()/2)
	table := s.root.newRouteTable()
	table.router.NotFound = p.notFound
	table.router.MethodNotAllowed = p.methodNotAllowed
	p.router = table.router
	p.add(table, false)
	return p
}

// add adds the routes that replace native ones, or the others, to a table.
func (p *protocols) add(to routeTable, replacing bool) {
	to.others = true
	for _, one := range p.list {
		for _, r := range one.Routes {
			route := r.Method + " " + r.Path
			if r.Replaces != replacing || p.added[route] {
				continue
			}
			p.added[route] = true
			h := p.handler(r.Handle)
			if r.Private {
				h = p.private(h)
			}
			if r.Method == fasthttp.MethodPost {
				h = p.traced(r.Path, h)
			}
			if r.Method == fasthttp.MethodGet {
				to.get(r.Path, h)
			} else {
				to.on(r.Method, r.Path, h)
			}
		}
	}
}

// replaces reports whether a protocol's route has the path of a native one.
func (p *protocols) replaces(method, path string) bool {
	if p == nil {
		return false
	}
	for _, one := range p.list {
		for _, r := range one.Routes {
			if r.Replaces && r.Path == path &&
				(r.Method == method || r.Method == fasthttp.MethodGet && method == fasthttp.MethodHead) {
				return true
			}
		}
	}
	return false
}

func (p *protocols) handler(h func(*protocol.Exchange)) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) { h(protocol.NewExchange(ctx, p)) }
}

// private answers only requests that no page of another origin can have sent.
func (p *protocols) private(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		switch foreign, rebound := p.readers(&ctx.Request.Header, p.opt.CORSOrigins); {
		case foreign:
			p.refuseForeign(ctx)
		case rebound:
			p.refuseAs(ctx, protocol.Forbidden,
				"The name "+request.Show(ctx.Request.Header.Host())+" could be registered by anybody "+
					"(DNS rebinding), so this is not told at it. Ask by IP address, or start the server with --auth-token-file, "+
					"or with --cors-origin http:// and that name")
		default:
			h(ctx)
		}
	}
}

// owner returns the protocol whose paths a request's path belongs to, or nil.
func (p *protocols) owner(ctx *fasthttp.RequestCtx) *protocol.Protocol {
	if p == nil {
		return nil
	}
	path := string(ctx.Request.URI().PathOriginal())
	var owner *protocol.Protocol
	longest := 0
	for i := range p.list {
		if owns := p.list[i].Owns; owns != nil && owns(path) {
			return &p.list[i]
		}
		for _, prefix := range p.list[i].Prefixes {
			rest, ok := strings.CutPrefix(path, prefix)
			if ok && len(prefix) > longest && (rest == "" || rest[0] == '/' || strings.HasSuffix(prefix, "/")) {
				owner, longest = &p.list[i], len(prefix)
			}
		}
	}
	return owner
}

// refuseFor answers with err in the shape of the protocol that owns the path; false: none does.
func (p *protocols) refuseFor(ctx *fasthttp.RequestCtx, err *protocol.Error) bool {
	owner := p.owner(ctx)
	if owner == nil || owner.Refuse == nil {
		return false
	}
	owner.Refuse(ctx, err)
	return true
}

// refuseAs answers with a status and a text: in the shape of the protocol that owns the path, or as the native API.
func (s *Server) refuseAs(ctx *fasthttp.RequestCtx, kind protocol.Kind, text string) {
	if s.protocols == nil || !s.protocols.refuseFor(ctx, protocol.Errorf(kind, "%s", text)) {
		s.detail(ctx, kind.Status(), text)
	}
}

func (p *protocols) notFound(ctx *fasthttp.RequestCtx) {
	if p.escapeName(ctx) {
		p.router.Handler(ctx)
		return
	}
	if !p.refuseFor(ctx, protocol.Errorf(protocol.Unknown, "unknown path %s",
		predict.Clip(string(ctx.Path())))) {
		p.root.unknown(ctx)
	}
}

func (p *protocols) methodNotAllowed(ctx *fasthttp.RequestCtx) {
	if p.escapeName(ctx) {
		ctx.Response.Header.Del(fasthttp.HeaderAllow)
		p.router.Handler(ctx)
		return
	}
	if p.refuseFor(ctx, protocol.Errorf(protocol.BadMethod, "%s does not take %s", predict.Clip(string(ctx.Path())),
		predict.Clip(string(ctx.Method())))) {
		return
	}
	p.root.methodNotAllowed(ctx)
}

// escapeName escapes the slashes of a model's name in a path: clients of KServe and Triton do not. It reports whether
// there were any.
func (p *protocols) escapeName(ctx *fasthttp.RequestCtx) bool {
	before, after, ok := strings.Cut(string(ctx.Request.URI().PathOriginal()), "/models/")
	longest := ""
	for _, a := range p.all() {
		name := a.model.Name
		rest, found := strings.CutPrefix(after, name)
		if ok && found && strings.Contains(name, "/") && len(name) > len(longest) &&
			(rest == "" || rest[0] == '/' || rest[0] == ':') {
			longest = name
		}
	}
	if longest != "" {
		ctx.Request.URI().SetPath(before + "/models/" + url.PathEscape(longest) + after[len(longest):])
	}
	return longest != ""
}

// isProbe reports whether a path of a protocol never requires a token.
func (p *protocols) isProbe(path string) bool {
	return p != nil && slices.ContainsFunc(p.list,
		func(one protocol.Protocol) bool { return slices.Contains(one.Probes, path) })
}

// isSigned reports whether a signature may stand for a token at a path.
func (p *protocols) isSigned(path string) bool {
	return p != nil && slices.ContainsFunc(p.list, func(one protocol.Protocol) bool {
		return slices.ContainsFunc(one.Signed, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
	})
}

// probes returns the paths of which GET never requires a token.
func (p *protocols) probes() (paths []string) {
	if p == nil {
		return nil
	}
	for i := range p.list {
		paths = append(paths, p.list[i].Probes...)
	}
	return paths
}

// DocumentRoutes returns the routes that the OpenAPI document lists for a model, of which model is its own document.
func DocumentRoutes(list []protocol.Protocol, model []byte) (routes []openapi.Route) {
	for i := range list {
		for _, r := range list[i].Routes {
			if r.For == nil || r.For(model) {
				routes = append(routes, openapi.Route{Method: r.Method, Path: r.Path, As: r.Document})
			}
		}
	}
	return routes
}

// Charge implements protocol.Host.
func (p *protocols) Charge(ctx *fasthttp.RequestCtx, bytes int64) *protocol.Error {
	c, _ := ctx.Conn().(*transport.Conn)
	if err := p.awaitRoom(c, bytes); err != nil {
		return protocol.ErrorOf(err)
	}
	return nil
}

// OnGeneration implements protocol.Host.
func (p *protocols) OnGeneration() func(protocol.Generation) { return p.opt.OnGeneration }

// Trace implements protocol.Host.
func (p *protocols) Trace(ctx *fasthttp.RequestCtx) (*trace.Trace, bool) {
	t, _ := ctx.UserValue(traceKey{}).(*trace.Trace)
	return t, p.opt.Tracer != nil
}

// ReadBody implements protocol.Host.
func (p *protocols) ReadBody(ctx *fasthttp.RequestCtx) (protocol.Body, *protocol.Error) {
	body, err := p.readAny(ctx)
	if err != nil {
		return protocol.Body{}, p.bodyError(ctx, err)
	}
	if body.disk != nil {
		return protocol.NewBody(body.data, body.charged, body.disk, p.opt.Memory.Free), nil
	}
	taken := protocol.NewBody(body.data, body.charged, nil, p.opt.Memory.Free)
	if body.shared != nil {
		taken.Shared, taken.Owned = body.shared, false
	}
	return taken, nil
}

// cameAs says of which type a body came.
func cameAs(contentType []byte) string {
	if len(contentType) == 0 {
		return "without a Content-Type"
	}
	return "as " + request.Show(contentType)
}

// WantsStream implements protocol.Host.
func (p *protocols) WantsStream(ctx *fasthttp.RequestCtx, iterates bool) bool {
	stream, object := streamQuality(&ctx.Request.Header)
	return stream > 0 && stream >= object && (iterates || object == 0)
}

// ReadForm implements protocol.Host.
func (p *protocols) ReadForm(ctx *fasthttp.RequestCtx) (protocol.Form, *protocol.Error) {
	h := &ctx.Request.Header
	kind, encoding, err := formOf(h)
	if err != nil || kind != request.FormData {
		return protocol.Form{}, protocol.Errorf(protocol.BadInput, "Send the body as multipart/form-data, not %s",
			cameAs(h.ContentType()))
	}
	in, err := p.open(ctx, encoding)
	if err != nil {
		return protocol.Form{}, p.bodyError(ctx, err)
	}
	defer in.close()
	files, room := &request.Files{New: p.root.svc.NewAttachments}, &request.Room{Budget: p.opt.Memory, From: in.raw.conn}
	f := request.Form{Plain: true}
	err = f.Read(in, string(h.ContentType()), files, room)
	if failed := in.failed(); err != nil && failed != nil {
		err = failed // the body's error, not the form's
	}
	if err != nil {
		files.Close()
		room.Free()
		return protocol.Form{}, p.bodyError(ctx, err)
	}
	return protocol.Form{
		Fields: f.Fields, Attachments: files.Attachments,
		Body: protocol.NewBody(nil, room.Bytes(), nil, p.opt.Memory.Free),
	}, nil
}

func (p *protocols) readAny(ctx *fasthttp.RequestCtx) (received, error) {
	header := ctx.Request.Header.ContentEncoding()
	encoding, known := anyCodingOf(header)
	switch {
	case !known || len(ctx.Request.Header.PeekAll(fasthttp.HeaderContentEncoding)) > 1:
		return received{}, &mediaError{
			"Unsupported content encoding " + request.Show(header) +
				": send the body as it is, or compressed once, with deflate, " +
				readableCodings, true,
		}
	case encoding == plain && len(ctx.Request.Header.Peek(protocol.BinaryHeader)) > 0:
		// the protocol reports what is wrong with it
		head, _ := strconv.Atoi(string(ctx.Request.Header.Peek(protocol.BinaryHeader)))
		return p.takeBodyIn(ctx, &p.shared, head)
	case encoding == plain:
		return p.takeBody(ctx)
	}
	in, err := p.open(ctx, encoding)
	if err != nil {
		return received{}, err
	}
	defer in.close()
	body, err := p.readCharged(in, in.raw.conn)
	return body, cmp.Or(in.failed(), err) // the body's error before the format reader's
}

// bodyError turns the error of a body that was not read into one of the protocols, and sees to its connection.
func (p *protocols) bodyError(ctx *fasthttp.RequestCtx, err error) *protocol.Error {
	var (
		broken *bodyError
		body   *request.Error
		media  *mediaError
	)
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		p.leave(ctx)
		return p.tooLargeError()
	case errors.Is(err, transport.ErrSlow):
		p.leave(ctx)
		err = memory.ErrFull
	case errors.As(err, &broken):
		p.leave(ctx)
		return protocol.Errorf(protocol.BadInput, "The body did not arrive completely")
	case errors.As(err, &body), errors.As(err, &media):
		return protocol.Errorf(protocol.BadInput, "%v", err)
	case errors.Is(err, memory.ErrFull), errors.Is(err, memory.ErrTooLarge):
		p.leaveUnread(ctx)
	}
	return protocol.ErrorOf(err)
}

// refuseTooLarge answers a request whose body is too large to be read.
func (s *Server) refuseTooLarge(ctx *fasthttp.RequestCtx) {
	if p := s.protocols; p != nil && p.refuseFor(ctx, p.tooLargeError()) {
		s.leave(ctx)
		return
	}
	s.refuse(ctx, fasthttp.ErrBodyTooLarge)
}

func (p *protocols) tooLargeError() *protocol.Error {
	return &protocol.Error{Kind: protocol.TooLarge, Row: -1, Message: p.tooLargeText()}
}

func (p *protocols) Watch(ctx *fasthttp.RequestCtx, r *protocol.Run) (stop func()) {
	if p.access != nil {
		ctx.SetUserValue(idKey{}, r.ID())
	}
	w := p.transport.Watch(ctx, r)
	return func() { p.transport.Unwatch(w) }
}

// partsKey is the key of an answer of SendParts in its context: it may be compressed, tensors in binary included.
type partsKey struct{}

func (p *protocols) SendParts(ctx *fasthttp.RequestCtx, contentType string, parts [][]byte, release func()) {
	ctx.SetUserValue(partsKey{}, true)
	ctx.Response.Header.SetContentType(contentType)
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if size <= maxReused {
		body := ctx.Response.SwapBody(nil)[:0]
		for _, part := range parts {
			body = append(body, part...)
		}
		ctx.Response.SwapBody(body)
		if release != nil {
			release()
		}
		return
	}
	if len(parts) > len(sliceBody{}.parts) { // headers before the large ones
		parts = joinSmall(parts)
	}
	if len(parts) <= len(sliceBody{}.parts) {
		body := &sliceBody{release: release}
		copy(body.parts[:], parts)
		ctx.Response.SetBodyStream(body, size)
		return
	}
	ctx.Response.SetBodyRaw(bytes.Join(parts, nil))
	if release != nil {
		release()
	}
}

// SendFile implements protocol.Host.
func (p *protocols) SendFile(ctx *fasthttp.RequestCtx, file *predict.OutputFile, release func()) {
	h := &ctx.Response.Header
	h.SetContentType(file.Type)
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff") // browsers must not guess the type of a model's output
	ctx.Response.SetBodyStream(&fileBody{from: io.NewSectionReader(file.Content, 0, file.Size), release: release},
		int(file.Size))
}

// joinSmall joins neighbours that are cheaper to copy than to write one by one.
func joinSmall(parts [][]byte) [][]byte {
	var out [][]byte
	small := false // the last part of out is a joined one
	for _, part := range parts {
		if small && len(part) < maxReused {
			out[len(out)-1] = append(out[len(out)-1], part...)
			continue
		}
		if small = len(part) < maxReused; small {
			part = bytes.Clone(part)
		}
		out = append(out, part)
	}
	return out
}
