package oip

import (
	"slices"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

// generate answers POST …/generate: the text of the whole output.
func (h *handlers) generate(x *protocol.Exchange) *protocol.Error {
	g, c, err := h.readGenerate(x)
	if err != nil {
		return err
	}
	answers, err := x.Predict(g.model, c)
	if err != nil {
		return err
	}
	defer answers.Release()
	output := answers.List[0].Output
	if g.signature.Iterator {
		output = concatenated(output)
	}
	x.Send(contentJSON, g.append(nil, output))
	return nil
}

// generateStream answers POST …/generate_stream: a data line for each item.
func (h *handlers) generateStream(x *protocol.Exchange) *protocol.Error {
	g, c, err := h.readGenerate(x)
	if err != nil {
		return err
	}
	c.Stream = true
	if g.run, err = x.Begin(g.model, c); err != nil {
		return err
	}
	return x.Stream(g.run, "text/event-stream", g)
}

// generated is a request for text. As a Renderer it writes the stream.
type generated struct {
	model     *protocol.Model
	signature *protocol.Signature
	run       *protocol.Run
	id        []byte // JSON, or nil
	items     int
}

// readGenerate reads the body: text_input goes to the input of that name, else to the only required text.
func (h *handlers) readGenerate(x *protocol.Exchange) (*generated, protocol.Call, *protocol.Error) {
	m, s, err := h.model(x)
	if err != nil {
		return nil, protocol.Call{}, err
	}
	body, err := x.Body()
	if err != nil {
		return nil, protocol.Call{}, err
	}
	g := &generated{model: m, signature: s}
	input, err := g.input(body.Data)
	if err = explained(x, body.Data, err); err != nil {
		body.Release()
		return nil, protocol.Call{}, err
	}
	return g, protocol.Call{Inputs: [][]byte{input}, Body: body}, nil
}

func (g *generated) input(body []byte) ([]byte, *protocol.Error) {
	if err := rawjson.Check(body); err != nil {
		return nil, protocol.ErrorOf(err)
	}
	if rawjson.KindOf(body) != rawjson.KindObject {
		return nil, bad("the body is %s: must be an object", shortText(body))
	}
	out := []byte{'{'}
	var given []string
	put := func(name string, value []byte) *protocol.Error {
		f := g.signature.Input(name)
		switch {
		case f == nil && name == "text_input":
			if f = g.onlyText(); f == nil {
				return bad("text_input cannot be used: the model has no input of that name, and not exactly one str input without default")
			}
		case f == nil && name == "id" && rawjson.KindOf(value) == rawjson.KindString:
			g.id = value
			return nil
		case f == nil:
			return unknownInput(name, g.signature)
		case slices.Contains(given, f.Name):
			return bad("input %q is given twice", f.Name)
		}
		given = append(given, f.Name)
		out = rawjson.Comma(out, len(out) > 1)
		out = append(append(rawjson.AppendQuoted(out, f.Name), ':'), value...)
		return nil
	}
	for key, value := range rawjson.Members(body) {
		var err *protocol.Error
		if name := rawjson.Name(key); name == "parameters" && g.signature.Input(name) == nil {
			err = eachParameter(value, put)
		} else {
			err = put(name, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// onlyText returns the only str input without default, or nil.
func (g *generated) onlyText() (only *protocol.Field) {
	for _, f := range g.signature.Required() {
		if f.Value.Kind == protocol.Text {
			if only != nil {
				return nil
			}
			only = f
		}
	}
	return only
}

func (g *generated) append(dst, output []byte) []byte {
	dst = rawjson.AppendQuoted(append(dst, `{"model_name":`...), g.model.Name)
	dst = append(dst, `,"model_version":"`+g.model.Version+`"`...)
	if g.id != nil {
		dst = append(append(dst, `,"id":`...), g.id...)
	}
	dst = append(dst, `,"text_output":`...)
	if rawjson.KindOf(output) == rawjson.KindString {
		dst = append(dst, output...)
	} else {
		dst = rawjson.AppendQuotedBytes(dst, output)
	}
	return append(dst, '}')
}

// Item implements protocol.Renderer.
func (g *generated) Item(dst, item []byte) ([]byte, bool) {
	g.items++
	return append(g.append(append(dst, "data: "...), item), "\n\n"...), true
}

// End implements protocol.Renderer. A model that is not an iterator has its whole output as one item.
func (g *generated) End(dst []byte, err *protocol.Error) []byte {
	switch {
	case err != nil:
		dst = rawjson.AppendQuoted(append(dst, `data: {"error":`...), err.Error())
		return append(dst, "}\n\n"...)
	case g.items == 0 && !g.signature.Iterator:
		dst, _ = g.Item(dst, g.run.Answer().Output)
	}
	return dst
}
