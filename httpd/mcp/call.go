package mcp

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/trace"
)

// call is a tools/call.
type call struct {
	*request
	name  string
	model *protocol.Model
	tool  *tool
	input []byte
	// address is that of the server, by which the client reached it, and inline the largest file in bytes within the
	// result.
	address string
	inline  int
}

// call answers tools/call.
func (r *request) call() *rpcError {
	name, ok := r.textMember("name")
	if !ok {
		return refusal(codeParams, "name must be a string")
	}
	c := &call{request: r, name: name, model: r.find(name), input: member(r.params, "arguments")}
	if c.model == nil {
		return r.unknownTool(name)
	}
	switch rawjson.KindOf(c.input) {
	case rawjson.KindObject:
	case rawjson.KindNull:
		c.input = []byte("{}")
	default:
		if c.input != nil {
			return refusal(codeParams, "arguments must be an object")
		}
		c.input = []byte("{}")
	}
	r.id = bytes.Clone(r.id) // the body goes to the prediction
	document, ok := c.model.LoadOpenAPI()
	if !ok {
		_, err := c.model.Signature() // says why
		c.fail(err)
		return nil
	}
	c.tool = r.s.toolOf(c.model, document)
	c.address, c.inline = r.x.Jobs().Address(r.x.RequestCtx), maxInline
	switch {
	case r.declaresTasks() && keepsTasks(c.model):
		c.waitAsTask()
	case c.token != nil && r.x.WantsStream(true):
		c.follow()
	default:
		c.wait()
	}
	return nil
}

// unknownTool names the tools that there are.
func (r *request) unknownTool(name string) *rpcError {
	var names []string
	for _, m := range r.byName() {
		names = append(names, ToolName(m.Name))
	}
	return refusal(codeParams, "unknown tool %q: this server has %s", logtext.Clip(name), strings.Join(names, ", "))
}

// wait carries out the call, and answers with its result.
func (c *call) wait() {
	run, err := c.begin(false)
	if err != nil {
		c.fail(err)
		return
	}
	rec, err := c.x.Finish(run)
	if err != nil {
		c.fail(err)
		return
	}
	parts := c.appendResult(c.open(), &rec)
	run.Send(c.x, contentJSON, rec.Output, append(parts, []byte("}}"))...)
}

// begin creates the prediction, which takes the body over.
func (c *call) begin(stream bool) (*protocol.Run, *protocol.Error) {
	of := c.take()
	if of.Stream = stream; c.tool.files {
		of.ID = predict.NewID(time.Now())
	}
	return c.x.Begin(c.model, of)
}

// take returns the call as the protocols share it, which takes the body over.
func (c *call) take() protocol.Call {
	body := c.body
	c.body = protocol.Body{}
	return protocol.Call{Inputs: [][]byte{c.input}, Body: body, Span: c.span()}
}

// appendResult appends the members of a result to dst, in parts of which some may be the output's own bytes.
func (c *call) appendResult(dst []byte, of *predict.Record) [][]byte {
	switch of.Status {
	case predict.Succeeded:
		return c.appendOutput(dst, of)
	case predict.Canceled:
		return [][]byte{appendFailure(dst, "The prediction was canceled")}
	}
	text := of.Error
	if last := lastLines(of.Logs); last != "" && of.Fault == nil { // the client's fault is no failure of the model
		text += "\n\nThe last lines of the log:\n" + last
	}
	return [][]byte{appendFailure(dst, text)}
}

// appendFailure appends the members of a result that tells what went wrong.
func appendFailure(dst []byte, text string) []byte {
	dst = addText(append(addMember(dst, "content"), `[{"type":"text"`...), "text", text)
	return append(dst, `}],"isError":true`...)
}

// fail answers with a result that tells why nothing was run. A model can mend its arguments, or call again later.
func (c *call) fail(err *protocol.Error) {
	if err.Kind == protocol.Internal {
		c.refuse(&rpcError{code: codeInternal, message: err.Message})
		return
	}
	text := err.Message
	if seconds := err.RetryAfterSeconds(); seconds > 0 {
		text = fmt.Sprintf("%s. Try again in %d s", strings.TrimSuffix(text, "."), seconds)
	}
	c.send(appendFailure(c.open(), text))
}

const (
	maxLogLines = 10
	maxLogBytes = 2 << 10
)

// lastLines returns the end of a model's log.
func lastLines(logs []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(logtext.Tail(logs, maxLogBytes)), "\uFFFD"))
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-maxLogLines):], "\n")
}

// span describes the call for the span of its prediction, by the names of OpenTelemetry's conventions.
func (c *call) span() *predict.SpanAttrs {
	if !c.x.Sampled() {
		return nil
	}
	return &predict.SpanAttrs{Begin: trace.Attrs{}.Text("gen_ai.operation.name", "execute_tool").
		Text("gen_ai.tool.name", c.name).Text("gen_ai.tool.type", "function").Text("mcp.method.name", methodCall).
		Text("mcp.protocol.version", c.revision())}
}

// revision returns the revision by which the request is answered.
func (r *request) revision() string {
	if r.modern {
		return modern
	}
	if named := string(r.x.Request.Header.Peek(headerVersion)); named != "" {
		return named
	}
	return legacy[len(legacy)-1]
}
