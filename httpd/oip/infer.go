package oip

import (
	"bytes"
	"strconv"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

// infer answers POST …/infer.
func (h *handlers) infer(x *protocol.Exchange) *protocol.Error {
	m, s, err := h.model(x)
	if err != nil {
		return err
	}
	body, err := x.Body()
	if err != nil {
		return err
	}
	if err := chargeElements(x, &body); err != nil {
		body.Release()
		return err
	}
	r, err := read(x, s, body.Data)
	var c protocol.Call
	var shape Rows
	if err == nil {
		c, shape, err = r.Call(m, s, func(bytes int64) *protocol.Error { return x.Charge(&body, bytes) })
	}
	if err != nil {
		body.Release()
		return err
	}
	c.Body = body
	answers, err := x.Predict(m, c)
	if err != nil {
		return err
	}
	defer answers.Release()
	tensors, err := r.Answered(s, shape, answers.List)
	if err == nil {
		err = r.write(x, m, tensors, answers)
	}
	return err
}

const (
	// elementBytes is about what an element takes in memory as a token of JSON, beside its text.
	elementBytes = 64
	// arrayBytes is about what an array takes beside its elements.
	arrayBytes = 256
)

// chargeElements charges the elements of JSON tensors, which take many times their text, before they are read.
func chargeElements(x *protocol.Exchange, body *protocol.Body) *protocol.Error {
	text := body.Data
	if head, ok := readLength(x.Request.Header.Peek(protocol.BinaryHeader)); ok && head < len(text) {
		text = text[:head]
	}
	if len(text) <= protocol.FewBytes {
		return nil
	}
	return x.Charge(body, int64(bytes.Count(text, []byte{','})+1)*elementBytes)
}

// explained returns err, or what is wrong with the body's type.
func explained(x *protocol.Exchange, body []byte, err *protocol.Error) *protocol.Error {
	if err != nil {
		if text := x.NotJSON(body); text != "" {
			return bad("%s", text)
		}
	}
	return err
}

// read reads the request in body. Without any JSON, the body is the only input.
func read(x *protocol.Exchange, s *protocol.Signature, body []byte) (*Request, *protocol.Error) {
	header := x.Request.Header.Peek(protocol.BinaryHeader)
	if len(header) == 0 {
		r, err := readRequest(body, len(body))
		if err != nil && x.MediaType() == "application/octet-stream" && rawjson.Check(body) != nil {
			return nil, bad("%s; tensors in binary need the header %s", err.Message, protocol.BinaryHeader)
		}
		return r, explained(x, body, err)
	}
	head, ok := readLength(header)
	switch {
	case !ok:
		return nil, bad("%s is %q: must be a number of bytes in decimal digits", protocol.BinaryHeader, shortText(header))
	case head > len(body):
		return nil, bad("%s is %d, but the body has %d bytes", protocol.BinaryHeader, head, len(body))
	}
	if head > 0 {
		return readRequest(body, head)
	}
	if len(s.Inputs) != 1 {
		return nil, bad("%s is 0, which needs a model with one input; this one has %d", protocol.BinaryHeader, len(s.Inputs))
	}
	v := &s.Inputs[0].Value
	t := Tensor{Name: s.Inputs[0].Name, Shape: []int64{1}, Raw: body}
	t.Type, _ = DatatypeNamed(taken(v)[0])
	if t.Type.Size == 0 {
		t.Raw = append([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), byte(len(body) >> 24)}, body...)
	} else {
		if len(body)%t.Type.Size != 0 {
			return nil, bad("input %q: the body has %d bytes, but elements of %s have %d each", t.Name, len(body), t.Type.Name,
				t.Type.Size)
		}
		n := int64(len(body) / t.Type.Size)
		t.Shape = []int64{n}
		if err := t.checkRaw(n); err != nil {
			return nil, err
		}
	}
	return &Request{Inputs: []Tensor{t}, Binary: true}, nil
}

// readLength reads a length in the form that all servers read alike: digits alone.
func readLength(text []byte) (n int, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(string(text))
	return n, err == nil
}

// write answers with tensors of answers.
func (r *Request) write(x *protocol.Exchange, m *protocol.Model, tensors []Tensor,
	answers *protocol.Answers,
) *protocol.Error {
	var raws [][]byte
	out := rawjson.AppendQuoted([]byte(`{"model_name":`), m.Name)
	out = append(out, `,"model_version":"`+m.Version+`"`...)
	if r.ID != nil {
		out = append(append(out, `,"id":`...), r.ID...)
	}
	out = append(out, `,"outputs":[`...)
	for i := range tensors {
		t := &tensors[i]
		out = rawjson.Comma(out, i > 0)
		out = rawjson.AppendQuoted(append(out, `{"name":`...), t.Name)
		out = append(out, `,"datatype":"`+t.Type.Name+`","shape":`+shapeText(t.Shape)...)
		if r.wantsBinary(t.Name) {
			raw, err := t.Bytes()
			if err != nil {
				return protocol.Errorf(protocol.Failed, "output %q: %v", t.Name, err)
			}
			raws = append(raws, raw)
			out = append(out, `,"parameters":{"binary_data_size":`...)
			out = append(strconv.AppendInt(out, int64(len(raw)), 10), "}}"...)
			continue
		}
		out = append(out, `,"data":[`...)
		tokens, ok := t.json()
		if !ok {
			return protocol.Errorf(protocol.Failed,
				"output %q has values that JSON cannot hold (bytes that are not UTF-8, a NaN or infinity): ask for it with binary_data, or by gRPC", t.Name)
		}
		for j, token := range tokens {
			out = rawjson.Comma(out, j > 0)
			out = append(out, token...)
		}
		out = append(out, "]}"...)
	}
	out = append(out, "]}"...)
	if raws == nil {
		x.Send(contentJSON, out)
		return nil
	}
	x.Response.Header.Set(protocol.BinaryHeader, strconv.Itoa(len(out)))
	answers.Send(x, "application/octet-stream", append([][]byte{out}, raws...)...)
	return nil
}
