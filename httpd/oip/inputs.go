package oip

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Rows says how the scalar inputs of a request are shaped, and so its outputs.
type Rows struct {
	n      int
	given  bool    // the request has a scalar tensor: outputs have a dimension for the rows
	column bool    // of shape [n,1]
	of     *Tensor // a scalar tensor of the request, or nil
}

// Call turns the tensors of a request into the inputs of predictions. It refuses outputs that the model does not have.
// charge charges the memory that the inputs take, before they are made.
func (r *Request) Call(
	m *protocol.Model, s *protocol.Signature, charge func(bytes int64) *protocol.Error,
) (c protocol.Call, shape Rows, err *protocol.Error) {
	shape = Rows{n: 1}
	if err := r.checkOutputs(s); err != nil {
		return c, shape, err
	}
	defer func() {
		if err != nil && c.Attachments != nil {
			c.Attachments.Close()
		}
	}()
	seen := map[string]bool{}
	for i := range r.Inputs {
		if err := r.check(&r.Inputs[i], s, seen, &shape); err != nil {
			return c, shape, err
		}
	}
	if err := protocol.CheckRows(shape.n); err != nil {
		return c, shape, err
	}
	filled := r.fillers(s, seen)
	if c.Copied = r.cost(s, filled, shape.n); c.Copied > protocol.FewBytes {
		if err := charge(c.Copied); err != nil {
			return c, shape, err
		}
	}
	rows := make(rowTexts, shape.n)
	for i := range r.Inputs {
		t := &r.Inputs[i]
		if err := t.addTo(&c, rows, &s.Input(t.Name).Value, m); err != nil {
			return c, shape, err
		}
	}
	for _, p := range filled {
		for row := range rows {
			rows.put(row, p.Name, p.Value)
		}
	}
	rows.close()
	c.Inputs, c.WantTensors = rows, mayHaveArrays(s) || r.takesAny(s)
	return c, shape, nil
}

// fillers returns the parameters that are inputs of every row.
func (r *Request) fillers(s *protocol.Signature, seen map[string]bool) (list []Parameter) {
	for _, p := range r.Parameters {
		if f := s.Input(p.Name); f != nil && !seen[p.Name] && isScalar(&f.Value) && f.Value.Kind != protocol.File {
			list = append(list, p)
		}
	}
	return list
}

// cost returns about how many bytes the inputs of the rows take beside the request.
func (r *Request) cost(s *protocol.Signature, filled []Parameter, rows int) (bytes int64) {
	for i := range r.Inputs {
		bytes += r.Inputs[i].cost(&s.Input(r.Inputs[i].Name).Value)
	}
	for _, p := range filled {
		bytes += int64(rows) * int64(len(p.Name)+len(p.Value))
	}
	return bytes
}

// cost returns about how many bytes the tensor takes as a value v in JSON. The elements of one that came in JSON are
// charged already.
func (t *Tensor) cost(v *protocol.Value) (bytes int64) {
	switch {
	case t.Raw == nil:
		for _, token := range t.Tokens {
			bytes += int64(len(token))
		}
		return bytes
	case leaf(v).Kind == protocol.Array:
		arrays, _ := count(t.Shape[:depth(v)])
		return arrays * arrayBytes
	case t.Type.Size > 0:
		return int64(len(t.Raw)/t.Type.Size) * elementBytes
	}
	copies := int64(2) // as a token, and in its row
	switch {
	case v.Kind == protocol.File: // it goes to disk
		copies = 0
	case isScalar(v):
		copies = 1
	}
	for raw := t.Raw; len(raw) > 0; {
		var element []byte
		element, raw = nextBytes(raw)
		bytes += elementBytes + copies*int64(rawjson.QuotedLen(element))
	}
	return bytes
}

// rowTexts are the JSON objects of the rows while they are written.
type rowTexts [][]byte

func (r rowTexts) put(row int, name string, value []byte) {
	r[row] = append(r.begin(row, name, len(value)), value...)
}

// putText adds a text that is UTF-8, without a copy as a token.
func (r rowTexts) putText(row int, name string, text []byte) {
	r[row] = rawjson.AppendQuotedBytes(r.begin(row, name, rawjson.QuotedLen(text)), text)
}

// begin returns the row with a member's name, and room for a value of that size.
func (r rowTexts) begin(row int, name string, size int) []byte {
	before := byte(',')
	if r[row] == nil {
		before = '{'
	}
	dst := slices.Grow(r[row], len(`,"":}`)+len(name)+size)
	return append(rawjson.AppendQuoted(append(dst, before), name), ':')
}

func (r rowTexts) close() {
	for row := range r {
		if r[row] == nil {
			r[row] = append(r[row], '{')
		}
		r[row] = append(r[row], '}')
	}
}

// addTo adds the tensor to the inputs of a call: by its rows if it is an input of scalars, else as the only row's value
// v.
func (t *Tensor) addTo(c *protocol.Call, rows rowTexts, v *protocol.Value, m *protocol.Model) *protocol.Error {
	switch {
	case v.Kind == protocol.File:
		return t.addFiles(c, rows, m)
	case v.Kind == protocol.Object || v.Kind == protocol.Any ||
		v.Kind == protocol.List && t.Type.Size == 0 && leaf(v).Kind != protocol.Text:
		for row, text := range t.texts() {
			if err := rawjson.Check(text); err != nil {
				return bad("input %q: the text is not JSON: %v", t.shown(), err)
			}
			rows.put(row, t.Name, text)
		}
		return nil
	case leaf(v).Base64 && t.Raw != nil: // the bytes themselves
		t.Tokens = t.texts()
		for i, text := range t.Tokens {
			t.Tokens[i] = append(base64.StdEncoding.AppendEncode([]byte{'"'}, text), '"')
		}
		t.Raw = nil
	case leaf(v).Kind == protocol.Array && t.Raw != nil:
		rows.put(0, t.Name, t.addArrays(c, depth(v)))
		return nil
	case v.Kind == protocol.Text && t.Raw != nil: // checked to be UTF-8
		for row, text := range t.texts() {
			rows.putText(row, t.Name, text)
		}
		return nil
	}
	tokens, err := t.tokens(c)
	if err != nil {
		return err
	}
	if !isScalar(v) {
		rows.put(0, t.Name, nest(nil, tokens, t.Shape))
		return nil
	}
	for row, token := range tokens {
		rows.put(row, t.Name, token)
	}
	return nil
}

// addArrays adds the arrays that are depth lists deep, and returns the lists with their placeholders.
func (t *Tensor) addArrays(c *protocol.Call, depth int) []byte {
	lists, shape := t.Shape[:depth], t.Shape[depth:]
	n, _ := count(lists)
	each := 0
	if n > 0 {
		each = len(t.Raw) / int(n)
	}
	places := make([][]byte, n)
	for i := range places {
		places[i] = predict.AppendTensor(nil, len(c.Tensors), t.Type.Name+shapeText(shape))
		c.Tensors = append(c.Tensors, predict.Tensor{Code: t.Type.Code, Shape: shape, Data: t.Raw[i*each : (i+1)*each]})
	}
	return nest(nil, places, lists)
}

// addFiles adds each element as a file.
func (t *Tensor) addFiles(c *protocol.Call, rows rowTexts, m *protocol.Model) *protocol.Error {
	for row, content := range t.texts() {
		if c.Attachments == nil {
			c.Attachments = m.NewAttachments()
		}
		number, err := c.Attachments.Add("", "", bytes.NewReader(content))
		if err != nil {
			return protocol.ErrorOf(err)
		}
		rows.put(row, t.Name, predict.AppendPlaceholder(nil, number, ""))
	}
	return nil
}

// check requires the tensor to fit its input, and notes how many rows it has.
func (r *Request) check(t *Tensor, s *protocol.Signature, seen map[string]bool, shape *Rows) *protocol.Error {
	f := s.Input(t.Name)
	switch {
	case f == nil:
		return unknownInput(t.Name, s)
	case seen[t.Name]:
		return bad("input %q is given twice", t.shown())
	}
	seen[t.Name] = true
	v := &f.Value
	if types := taken(v); !slices.Contains(types, t.Type.Name) {
		return bad("input %q is %s: must be %s", t.shown(), t.Type.Name, strings.Join(types, ", "))
	}
	rank := len(t.Shape)
	if isScalar(v) {
		if rank < 1 || rank > 2 || rank == 2 && t.Shape[1] != 1 || t.Shape[0] == 0 {
			return bad("input %q has shape %s: must be [1], [n] or [n,1]", t.shown(), shapeText(t.Shape))
		}
		n := int(t.Shape[0])
		if shape.given && (n != shape.n || (rank == 2) != shape.column) {
			return bad("input %q has shape %s: must be %s as input %q, because all scalar inputs are alike",
				t.shown(), shapeText(t.Shape), shapeText(shape.of.Shape), shape.of.shown())
		}
		shape.n, shape.given, shape.column, shape.of = n, true, rank == 2, t
		if v.Kind == protocol.Text && !v.Base64 && t.Raw != nil {
			for i, text := range t.texts() {
				if !utf8.Valid(text) {
					return bad("input %q: element %d is not UTF-8", t.shown(), i)
				}
			}
		}
	} else {
		if n, _ := count(t.Shape); t.Type.Size == 0 && v.Kind != protocol.List && n != 1 {
			return bad("input %q has shape %s: must be one element of BYTES with its JSON", t.shown(), shapeText(t.Shape))
		}
		if err := t.checkLists(v); err != nil {
			return err
		}
	}
	for i := range r.Inputs {
		other := s.Input(r.Inputs[i].Name)
		if shape.n > 1 && other != nil && !isScalar(&other.Value) {
			return bad("the scalar inputs have %d rows, and input %q is taken whole: send one row", shape.n, other.Name)
		}
	}
	return nil
}

// checkLists requires the rank of an array, or of a list of them, if v is one. It bounds what takes far more memory
// than its bytes: arrays within lists, and lists without elements.
func (t *Tensor) checkLists(v *protocol.Value) *protocol.Error {
	item, lists := leaf(v), t.Shape
	elements, _ := count(t.Shape)
	if item.Kind == protocol.Array {
		n := depth(v)
		if len(t.Shape) <= n || item.Rank > 0 && len(t.Shape) != n+item.Rank {
			return bad("input %q has shape %s: must be %s", t.shown(), shapeText(t.Shape),
				shapeText(openShape(n+max(item.Rank, 1))))
		}
		if t.Raw != nil && elements > 0 { // in a job of the queue, arrays are lists
			lists = t.Shape[:n]
		}
	}
	if elements > 0 && len(lists) == len(t.Shape) {
		return nil
	}
	made := int64(1)
	for _, length := range lists {
		if length > protocol.MaxRows || made*length > protocol.MaxRows {
			return bad("input %q has shape %s: must have at most %d arrays or lists without elements", t.shown(),
				shapeText(t.Shape),
				protocol.MaxRows)
		}
		if made *= length; made == 0 {
			break
		}
	}
	return nil
}

func unknownInput(name string, s *protocol.Signature) *protocol.Error {
	names := make([]string, len(s.Inputs))
	for i := range s.Inputs {
		names[i] = s.Inputs[i].Name
	}
	return bad("unknown input %q: the model has %s", shortText([]byte(name)), strings.Join(names, ", "))
}

// nest appends the elements as nested lists of that shape.
func nest(dst []byte, tokens [][]byte, shape []int64) []byte {
	if len(shape) == 0 {
		return append(dst, tokens[0]...)
	}
	dst = append(dst, '[')
	each := 1
	for _, length := range shape[1:] {
		each *= int(length)
	}
	for i := range int(shape[0]) {
		dst = rawjson.Comma(dst, i > 0)
		dst = nest(dst, tokens[i*each:(i+1)*each], shape[1:])
	}
	return append(dst, ']')
}

func openShape(rank int) []int64 {
	shape := make([]int64, rank)
	for i := range shape {
		shape[i] = -1
	}
	return shape
}
