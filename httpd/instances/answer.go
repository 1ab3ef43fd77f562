package instances

import (
	"fmt"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

// ContentJSON is the type of answers.
const ContentJSON = "application/json"

// Predict reads a request of instances, carries it out and writes its predictions.
func Predict(x *protocol.Exchange, m *protocol.Model, names ...string) *protocol.Error {
	s, err := m.Signature()
	if err != nil {
		return err
	}
	body, err := x.Body()
	if err != nil {
		return err
	}
	return Answer(x, m, s, body, names...)
}

// Answer is Predict for a body that was read. It takes the body over.
func Answer(x *protocol.Exchange, m *protocol.Model, s *protocol.Signature, body protocol.Body,
	names ...string,
) *protocol.Error {
	charge := func(bytes int64) *protocol.Error { return x.Charge(&body, bytes) }
	call, err := Read(s, body.Data, charge, names...)
	if err != nil {
		if text := x.NotJSON(body.Data); text != "" {
			err = protocol.Errorf(protocol.BadInput, "%s", text)
		}
	}
	if err != nil || len(call.Inputs) == 0 {
		body.Release()
		if err == nil {
			x.Send(ContentJSON, []byte(`{"predictions":[]}`))
		}
		return err
	}
	call.Body = body
	answers, err := x.Predict(m, call)
	if err != nil {
		return err
	}
	defer answers.Release()
	x.Send(ContentJSON, predictions(answers.List))
	return nil
}

func predictions(list []protocol.Answer) []byte {
	size := len(`{"predictions":[]}`)
	for i := range list {
		size += len(list[i].Output) + 1
	}
	out := append(make([]byte, 0, size), `{"predictions":[`...)
	for i := range list {
		out = rawjson.Comma(out, i > 0)
		out = append(out, list[i].Output...)
	}
	return append(out, "]}"...)
}

// Health answers 200 if the default model takes predictions, else 503.
func Health(x *protocol.Exchange, models protocol.Models) {
	if m, err := defaultModel(models); err != nil || m.Ready() != nil {
		x.SetStatusCode(fasthttp.StatusServiceUnavailable)
	}
}

// defaultModel returns the default model, if there is one.
func defaultModel(models protocol.Models) (*protocol.Model, *protocol.Error) {
	if list := models.List(); len(list) > 0 {
		return list[0], nil
	}
	return nil, protocol.Errorf(protocol.NotReady, "no model is loaded yet")
}

// Refuse answers with an error.
func Refuse(ctx *fasthttp.RequestCtx, err *protocol.Error) {
	err.Answer(ctx, AppendError(nil, err))
}

// AppendError appends {"error":"…"}, with the number of the instance that is at fault.
func AppendError(dst []byte, err *protocol.Error) []byte {
	text := err.Message
	if err.Row >= 0 {
		text = fmt.Sprintf("instance %d: %s", err.Row, text)
	}
	return append(rawjson.AppendQuoted(append(dst, `{"error":`...), text), '}')
}
