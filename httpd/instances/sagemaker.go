package instances

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

const (
	pathPing   = "/ping"
	pathInvoke = "/invocations"
	// headerAttributes is information that SageMaker passes from its client to the container, and back.
	headerAttributes = "X-Amzn-Sagemaker-Custom-Attributes"
	maxAttributes    = 1024 // bytes, by SageMaker's API
)

// handlers are the handlers of the protocol's routes.
type handlers struct {
	models protocol.Models
	object predict.Encoder
}

// SageMaker returns the protocol for the default model, and for those of a repository; nil means SageMaker loads none.
func SageMaker(models protocol.Models, repository Repository) protocol.Protocol {
	h := &handlers{models: models}
	ping := func(x *protocol.Exchange) { Health(x, models) }
	if repository != nil {
		ping = multi{h, repository}.ping
	}
	p := protocol.Protocol{
		Name: protocol.SageMaker,
		Routes: []protocol.Route{
			{Method: fasthttp.MethodGet, Path: pathPing, Handle: ping},
			{Method: fasthttp.MethodPost, Path: pathInvoke, Handle: h.invoke},
		},
		Refuse:   Refuse,
		Prefixes: []string{pathPing, pathInvoke},
		Probes:   []string{pathPing},
	}
	if repository != nil {
		multi{h, repository}.addTo(&p)
	}
	return p
}

// invoke answers POST /invocations.
func (h *handlers) invoke(x *protocol.Exchange) {
	echoAttributes(x)
	m, err := defaultModel(h.models)
	if err == nil {
		err = h.respond(x, m)
	}
	if err != nil {
		Refuse(x.RequestCtx, err)
	}
}

// echoAttributes answers with the client's attributes.
func echoAttributes(x *protocol.Exchange) {
	if given := x.Request.Header.Peek(headerAttributes); len(given) > 0 && len(given) <= maxAttributes {
		x.Response.Header.SetBytesV(headerAttributes, given)
	}
}

// invocation is a request while it is answered.
type invocation struct {
	*handlers
	x     *protocol.Exchange
	model *protocol.Model
	call  protocol.Call
	// iterates means that the model yields its output in items.
	iterates bool
}

// respond answers an invocation. An error means that nothing is written yet.
func (h *handlers) respond(x *protocol.Exchange, m *protocol.Model) *protocol.Error {
	s, err := m.Signature()
	if err != nil {
		return err
	}
	body, err := x.Body()
	if err != nil {
		return err
	}
	i := &invocation{h, x, m, protocol.Call{Body: body, Stream: x.WantsStream(s.Iterator)}, s.Iterator}
	if !isJSON(x.MediaType()) {
		return i.file(s)
	}
	if err := rawjson.Check(body.Data); err != nil {
		i.call.Body.Release()
		return protocol.ErrorOf(err)
	}
	if kind := rawjson.KindOf(body.Data); kind != rawjson.KindObject {
		i.call.Body.Release()
		return protocol.Errorf(protocol.BadInput,
			"the body must be an object, not of type %s: send the inputs by name, {\"input\": {…}} or {\"instances\": […]}",
			kind)
	}
	input, list, unknown := objectMembers(body.Data)
	switch {
	case rawjson.KindOf(input) == rawjson.KindObject:
		i.call.Inputs, i.call.UnknownKeys = [][]byte{input}, unknown
		return i.prediction()
	case rawjson.KindOf(list) == rawjson.KindArray && s.Input(Name) == nil:
		if i.call.Stream {
			i.call.Body.Release()
			return protocol.Errorf(protocol.BadInput, "a stream is of one prediction: send its inputs by name, not as instances")
		}
		return Answer(x, m, s, body, Name)
	}
	i.call.Inputs = [][]byte{body.Data}
	return i.output()
}

// objectMembers returns the members input and instances of an object, nil if absent, and the keys outside input.
func objectMembers(object []byte) (input, list []byte, unknown *predict.UnknownKeys) {
	for key, value := range rawjson.Members(object) {
		switch {
		case rawjson.KeyIs(key, "input"):
			input = value
		case rawjson.KeyIs(key, Name):
			list = value
		}
	}
	if input == nil {
		return nil, list, nil
	}
	for key := range rawjson.Members(object) {
		if rawjson.KeyIs(key, "input") {
			continue
		}
		if unknown == nil {
			unknown = &predict.UnknownKeys{Known: []string{"input"}, Place: "input"}
		}
		unknown.Add(key)
	}
	return input, list, unknown
}

// file makes the body the content of the only file input.
func (i *invocation) file(s *protocol.Signature) *protocol.Error {
	err := i.store(s)
	i.call.Body.Release() // the file has it
	if err != nil {
		return err
	}
	return i.output()
}

func (i *invocation) store(s *protocol.Signature) *protocol.Error {
	media, name := i.x.MediaType(), ""
	for _, f := range s.Inputs {
		switch {
		case f.Value.Kind != protocol.File:
		case name != "":
			return protocol.Errorf(protocol.BadInput,
				"the body is %s, and the model has several file inputs: send application/json with URLs", logtext.Clip(media))
		default:
			name = f.Name
		}
	}
	if name == "" {
		return protocol.Errorf(protocol.BadInput, "the body is %s, and the model has no file input: send application/json",
			logtext.Clip(media))
	}
	files := i.model.NewAttachments()
	number, err := files.Add("", media, bytes.NewReader(i.call.Body.Data))
	if err != nil {
		files.Close()
		return protocol.ErrorOf(err)
	}
	input := append(rawjson.AppendQuoted([]byte{'{'}, name), ':')
	i.call.Inputs = [][]byte{append(predict.AppendPlaceholder(input, number, ""), '}')}
	i.call.Attachments = files
	return nil
}

// output answers with the output alone.
func (i *invocation) output() *protocol.Error {
	if i.call.Stream {
		return i.stream()
	}
	i.call.WantFile = true
	answers, err := i.x.Predict(i.model, i.call)
	if err != nil {
		return err
	}
	if answer := &answers.List[0]; answer.File != nil {
		answers.SendFile(i.x)
	} else {
		answers.Send(i.x, ContentJSON, answer.Output)
	}
	return nil
}

// prediction answers with the prediction object.
func (i *invocation) prediction() *protocol.Error {
	if i.call.Stream {
		return i.stream()
	}
	run, err := i.x.Begin(i.model, i.call)
	if err != nil {
		return err
	}
	rec, err := i.x.Finish(run)
	if err != nil {
		return err
	}
	defer run.Release()
	if rec.Status != predict.Succeeded {
		i.x.SetStatusCode(fasthttp.StatusInternalServerError)
	}
	i.x.Send(ContentJSON, i.object.Append(nil, &rec))
	return nil
}

// stream writes an event for each item.
func (i *invocation) stream() *protocol.Error {
	run, err := i.x.Begin(i.model, i.call)
	if err != nil {
		return err
	}
	return i.x.Stream(run, contentStream, &events{run: run, iterates: i.iterates})
}

const contentStream = "text/event-stream"

// isJSON reports whether a media type is JSON; an absent one counts as JSON.
func isJSON(media string) bool {
	return media == "" || media == "application/json" ||
		strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}

// events writes a data line for each item. It is a protocol.Renderer.
type events struct {
	run      *protocol.Run
	iterates bool
}

func (e *events) Item(dst, item []byte) ([]byte, bool) {
	return append(append(append(dst, "data: "...), item...), "\n\n"...), true
}

// End writes the output of a model that is not an iterator, or the error.
func (e *events) End(dst []byte, err *protocol.Error) []byte {
	switch {
	case err != nil:
		return append(AppendError(append(dst, "data: "...), err), "\n\n"...)
	case !e.iterates:
		dst, _ = e.Item(dst, e.run.Answer().Output)
	}
	return dst
}
