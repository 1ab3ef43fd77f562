package mcp

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// The revisions of the protocol. Requests of modern carry their version and the client's capabilities; those of the older
// ones, the newest first, follow an initialize.
const modern = "2026-07-28"

var legacy = [...]string{"2025-11-25", "2025-06-18", "2025-03-26"}

// Members of _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// Bounds in bytes of JSON. An id is sent back, and a name is compared with a header.
const (
	maxID     = 1 << 10
	maxMethod = 256
	maxName   = 4 << 10
)

// message is a JSON-RPC message of a client. Its slices are the body's.
type message struct {
	id           []byte // JSON: a string or an integer; nil means that it is a notification
	method       string
	params       []byte // an object, or nil
	token        []byte // JSON: what the client knows the progress by, or nil
	version      string // of a modern message: the revision that it names
	capabilities []byte // of a modern message: an object
	meta         bool   // it names its revision, as modern messages do
}

// readMessage reads a message.
func readMessage(body []byte) (m message, bad *rpcError) {
	if err := rawjson.Check(body); err != nil {
		return m, refusal(codeParse, "%v", err)
	}
	switch rawjson.KindOf(body) {
	case rawjson.KindObject:
	case rawjson.KindArray:
		return m, refusal(codeRequest, "batches are not supported: send each message by its own request")
	default:
		return m, refusal(codeRequest, "a message must be a JSON object")
	}
	var jsonrpc, id, method, params []byte
	response := false
	reader := rawjson.Object(body)
	for key, value, ok := reader.Next(); ok; key, value, ok = reader.Next() {
		switch {
		case rawjson.KeyIs(key, "jsonrpc"):
			jsonrpc = value
		case rawjson.KeyIs(key, "id"):
			id = value
		case rawjson.KeyIs(key, "method"):
			method = value
		case rawjson.KeyIs(key, "params"):
			params = value
		case rawjson.KeyIs(key, "result"), rawjson.KeyIs(key, "error"):
			response = true
		}
	}
	if id != nil && !isID(id) {
		return m, refusal(codeRequest, "id must be a string or an integer of at most %d bytes", maxID)
	}
	m.id = id
	switch {
	case string(jsonrpc) != `"2.0"`:
		return m, refusal(codeRequest, `jsonrpc must be "2.0"`)
	case method == nil && response:
		return m, refusal(codeRequest, "this server asks clients for nothing, and so takes no responses")
	case rawjson.KindOf(method) != rawjson.KindString || len(method) > maxMethod:
		return m, refusal(codeRequest, "method must be a string of at most %d bytes", maxMethod)
	}
	m.method = methodName(method)
	switch rawjson.KindOf(params) {
	case rawjson.KindObject:
		m.params = params
	case rawjson.KindNull:
	default:
		if params != nil {
			return m, refusal(codeParams, "params must be an object")
		}
	}
	return m, m.readMeta()
}

// isID reports whether a value may be the id of a request, or a token.
func isID(value []byte) bool {
	switch rawjson.KindOf(value) {
	case rawjson.KindString:
		return len(value) <= maxID
	case rawjson.KindNumber:
		return len(value) <= maxID && !bytes.ContainsAny(value, ".eE")
	}
	return false
}

// methodName returns the text of a method, without a copy if it is one of ours.
func methodName(raw []byte) string {
	for _, known := range [...]string{methodCall, methodTools} {
		if len(raw) == len(known)+2 && string(raw[1:len(raw)-1]) == known {
			return known
		}
	}
	return rawjson.Text(raw)
}

// readMeta reads the members of _meta.
func (m *message) readMeta() *rpcError {
	var version []byte
	meta := member(m.params, "_meta")
	if meta != nil && rawjson.KindOf(meta) != rawjson.KindObject {
		return refusal(codeParams, "_meta must be an object")
	}
	reader := rawjson.Object(meta)
	for key, value, ok := reader.Next(); ok; key, value, ok = reader.Next() {
		switch {
		case rawjson.KeyIs(key, metaVersion):
			version = value
		case rawjson.KeyIs(key, metaCapabilities):
			m.capabilities = value
		case rawjson.KeyIs(key, "progressToken"):
			m.token = value
		}
	}
	if m.token != nil && !isID(m.token) {
		return refusal(codeParams, "progressToken must be a string or an integer of at most %d bytes", maxID)
	}
	if version == nil {
		return nil
	}
	if rawjson.KindOf(version) != rawjson.KindString || len(version) > maxMethod {
		return refusal(codeParams, "%s must be a string", metaVersion)
	}
	m.meta = true
	if m.version = modern; string(version) != `"`+modern+`"` {
		m.version = rawjson.Text(version)
	}
	return nil
}

// member returns a member of an object, or nil. Of equal names the last one counts.
func member(object []byte, name string) (found []byte) {
	reader := rawjson.Object(object)
	for key, value, ok := reader.Next(); ok; key, value, ok = reader.Next() {
		if rawjson.KeyIs(key, name) {
			found = value
		}
	}
	return found
}

// The headers of a message.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// isModern reports whether a message is answered as revision 2026-07-28 has it. One without any version is of 2025.
func (m *message) isModern(h *fasthttp.RequestHeader) bool {
	named := string(h.Peek(headerVersion))
	return m.meta || named != "" && m.method != methodInitialize && !slices.Contains(legacy[:], named)
}

// check refuses a modern message whose version is not served, which lacks what each must have, or whose headers say
// something else than its body: what forwards it may have trusted them.
func (m *message) check(h *fasthttp.RequestHeader) *rpcError {
	named := string(h.Peek(headerVersion))
	if !m.meta {
		if named != modern {
			return unsupported(named)
		}
		if m.id == nil {
			return nil // no revision says what the headers of a notification are
		}
		return refusal(codeParams, "_meta must have %s", metaVersion)
	}
	for _, c := range [...]struct{ header, value string }{
		{headerVersion, m.version}, {headerMethod, m.method}, {headerName, m.nameParam()},
	} {
		if bad := sameAs(h, c.header, c.value); bad != nil && m.id != nil {
			return bad
		}
	}
	switch {
	case m.version != modern:
		return unsupported(m.version)
	case rawjson.KindOf(m.capabilities) != rawjson.KindObject && m.id != nil:
		return refusal(codeParams, "_meta must have %s, an object", metaCapabilities)
	}
	return nil
}

// nameParam returns the parameter that the header Mcp-Name repeats; "" means the method has none.
func (m *message) nameParam() string {
	name := "name"
	switch m.method {
	case methodCall:
	case methodRead:
		name = "uri"
	case methodTask, methodCancelTask, methodUpdateTask:
		name = "taskId"
	default:
		return ""
	}
	value := member(m.params, name)
	if rawjson.KindOf(value) != rawjson.KindString || len(value) > maxName {
		return "" // the method says what is wrong with it
	}
	return rawjson.Text(value)
}

// sameAs refuses a message whose header is not there once, with a value.
func sameAs(h *fasthttp.RequestHeader, header, value string) *rpcError {
	if value == "" {
		return nil
	}
	got := h.Peek(header)
	if string(got) == value && len(h.PeekAll(header)) == 1 {
		return nil
	}
	switch all := h.PeekAll(header); {
	case len(all) == 0:
		return refusal(codeHeader, "the header %s is missing: must be %s", header, logtext.Clip(value))
	case len(all) > 1:
		return refusal(codeHeader, "the header %s is there %d times", header, len(all))
	}
	if header == headerName {
		if encoded, ok := strings.CutPrefix(string(got), "=?base64?"); ok {
			encoded, ok = strings.CutSuffix(encoded, "?=")
			if text, err := base64.StdEncoding.Strict().DecodeString(encoded); ok && err == nil && string(text) == value {
				return nil
			}
		}
	}
	return refusal(codeHeader, "the header %s is %s, and the body has %s",
		header, logtext.Clip(string(got)), logtext.Clip(value))
}

// unsupported refuses a revision, with the list of those that are served.
func unsupported(version string) *rpcError {
	bad := refusal(codeVersion, "unsupported protocol version %s", logtext.Clip(version))
	data := `{"supported":["` + modern + `","` + strings.Join(legacy[:], `","`) + `"],"requested":`
	bad.data = append(rawjson.AppendQuoted([]byte(data), logtext.Clip(version)), '}')
	return bad
}
