package mcp

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// Options of the protocol.
type Options struct {
	// Version is that of the server, which clients show.
	Version string
	// Fresh is how long a client may keep lists; 0 means not at all.
	Fresh time.Duration
	// TaskAfter is after how long a call is answered with a task.
	TaskAfter time.Duration
	// Private means that clients need tokens, so that no cache may share what one of them got.
	Private bool
}

// server answers the messages.
type server struct {
	o      Options
	models protocol.Models
	info   string // JSON: its name and version
	mu     sync.Mutex
	tools  map[string]*tool // by the model's name
}

const endpoint = "/mcp"

// New returns the protocol for these models: each is a tool.
func New(models protocol.Models, o Options) protocol.Protocol {
	s := &server{o: o, models: models, tools: map[string]*tool{}}
	s.info = string(append(addText([]byte(`{"name":"pinion"`), "version", o.Version), '}'))
	const one = "/models/{name}" + endpoint
	routes := []protocol.Route{
		{Method: fasthttp.MethodPost, Path: endpoint, Handle: s.all},
		{Method: fasthttp.MethodPost, Path: one, Handle: s.one, Replaces: true},
	}
	for _, method := range [...]string{fasthttp.MethodGet, fasthttp.MethodDelete} {
		routes = append(routes, protocol.Route{
			Method: method, Path: one, Handle: notAllowed, Replaces: true, For: func([]byte) bool { return false },
		})
	}
	return protocol.Protocol{
		Name: protocol.MCP, Routes: routes, Prefixes: []string{endpoint}, Refuse: refuse,
		Owns: func(p string) bool { return strings.HasPrefix(p, "/models/") && strings.HasSuffix(p, endpoint) },
	}
}

// notAllowed answers a client of 2025 that asks for a stream of the server's own messages, or ends a session: there are none.
func notAllowed(x *protocol.Exchange) {
	x.Response.Header.Set(fasthttp.HeaderAllow, "OPTIONS, POST")
	refuse(x.RequestCtx, protocol.Errorf(protocol.BadMethod, "%s takes POST alone", logtext.Clip(string(x.Path()))))
}

// request is a message with an id, which is answered.
type request struct {
	message
	s      *server
	x      *protocol.Exchange
	modern bool
	body   protocol.Body
	models []*protocol.Model        // whose tools the client sees
	list   func() []*protocol.Model // those of now
}

func (s *server) all(x *protocol.Exchange) { s.answer(x, s.models.List) }

// one answers for the model of the path.
func (s *server) one(x *protocol.Exchange) {
	name := x.Param("name")
	if _, err := s.models.Find(name, ""); err != nil {
		refuse(x.RequestCtx, err)
		return
	}
	s.answer(x, func() []*protocol.Model {
		if m, err := s.models.Find(name, ""); err == nil {
			return []*protocol.Model{m}
		}
		return nil
	})
}

// The methods.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodPing       = "ping"
	methodTools      = "tools/list"
	methodCall       = "tools/call"
	methodResources  = "resources/list"
	methodRead       = "resources/read"
	methodListen     = "subscriptions/listen"
)

// answer answers a message.
func (s *server) answer(x *protocol.Exchange, list func() []*protocol.Model) {
	body, err := x.Body()
	if err != nil {
		refuse(x.RequestCtx, err)
		return
	}
	r := &request{s: s, x: x, body: body, models: list(), list: list}
	var bad *rpcError
	r.message, bad = readMessage(body.Data)
	if r.modern = r.isModern(&x.Request.Header); bad == nil && r.modern {
		bad = r.check(&x.Request.Header)
	}
	if bad == nil && r.id == nil {
		bad = r.notified()
	}
	if bad == nil && r.id != nil {
		bad = r.dispatch()
	}
	if bad != nil {
		r.refuse(bad)
	}
	r.body.Release()
}

// notified answers a notification. Clients of 2025 say that they are ready, or that they no longer wait; here they close the
// connection for that.
func (r *request) notified() *rpcError {
	if !strings.HasPrefix(r.method, "notifications/") {
		return refusal(codeRequest, "%s without an id is no request", logtext.Clip(r.method))
	}
	r.x.SetStatusCode(fasthttp.StatusAccepted)
	return nil
}

// dispatch carries out a request.
func (r *request) dispatch() *rpcError {
	switch r.method {
	case methodCall:
		return r.call()
	case methodTools:
		return r.listTools()
	case methodResources, methodRead:
		switch {
		case !r.hasResources():
		case r.method == methodRead:
			return r.readResource()
		default:
			return r.listResources()
		}
	case methodTask, methodCancelTask, methodUpdateTask:
		if r.modern {
			return r.askTask()
		}
	case methodListen:
		if r.modern {
			return r.listen()
		}
	case methodDiscover:
		if r.modern {
			r.discover()
			return nil
		}
	case methodInitialize:
		if !r.modern {
			r.initialize()
			return nil
		}
	case methodPing:
		if !r.modern {
			r.send(r.open())
			return nil
		}
	}
	return refusal(codeMethod, "this server has no method %s", logtext.Clip(r.method))
}

// discover answers with what the server is and can do.
func (r *request) discover() {
	dst := addMember(r.open(), "supportedVersions")
	dst = append(append(dst, `["`+modern+`","`...), strings.Join(legacy[:], `","`)+`"]`...)
	dst = r.addCapabilities(dst)
	r.send(r.addCaching(dst))
}

// initialize answers the first request of a client of 2025. No session follows: each request is answered by itself.
func (r *request) initialize() {
	version := legacy[0]
	asked := member(r.params, "protocolVersion")
	for _, known := range legacy {
		if string(asked) == `"`+known+`"` {
			version = known
		}
	}
	dst := addText(r.open(), "protocolVersion", version)
	dst = r.addCapabilities(dst)
	r.send(append(addMember(dst, "serverInfo"), r.s.info...))
}

// addCapabilities appends what the server can do.
func (r *request) addCapabilities(dst []byte) []byte {
	dst = append(addMember(dst, "capabilities"), `{"tools":{`...)
	if r.modern {
		dst = append(dst, `"listChanged":true`...)
	}
	dst = append(dst, '}')
	if r.hasResources() {
		dst = append(dst, `,"resources":{}`...)
	}
	if r.modern && slices.ContainsFunc(r.models, keepsTasks) {
		dst = append(dst, `,"extensions":{"`+extensionTasks+`":{}}`...)
	}
	return append(dst, '}')
}

// textMember returns the text of a member of the parameters; false means it is absent or no string.
func (r *request) textMember(name string) (string, bool) {
	value := member(r.params, name)
	if rawjson.KindOf(value) != rawjson.KindString || len(value) > maxName {
		return "", false
	}
	return rawjson.Text(value), true
}
