package oip

import (
	"strconv"
	"strings"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

// Request is an inference request, as REST and gRPC carry it.
type Request struct {
	ID         []byte // JSON, or nil
	Inputs     []Tensor
	Outputs    []Wanted // nil means all
	Parameters []Parameter
	Binary     bool // outputs are binary, unless they say otherwise
	GRPC       bool // outputs are never JSON
}

// Wanted is an output that a request asks for.
type Wanted struct {
	Name   string
	Binary *bool // nil means as the request says
}

// Parameter is a parameter of a request.
type Parameter struct {
	Name  string
	Value []byte // JSON
}

// readRequest reads a body whose first part, of head bytes, is JSON; the rest is binary tensors, in order.
func readRequest(body []byte, head int) (*Request, *protocol.Error) {
	if len(body) == 0 {
		return nil, bad("the body is empty: must be an object with inputs")
	}
	text, rest := body[:head], body[head:]
	if err := rawjson.Check(text); err != nil {
		return nil, protocol.ErrorOf(err)
	}
	if rawjson.KindOf(text) != rawjson.KindObject {
		return nil, bad("the body is %s: must be an object", shortText(text))
	}
	r := new(Request)
	var inputs []byte
	for key, value := range rawjson.Members(text) {
		if string(value) == "null" { // clients that write each field of an object send it for an absent one
			continue
		}
		var err *protocol.Error
		switch rawjson.Name(key) {
		case "id":
			if rawjson.KindOf(value) != rawjson.KindString {
				return nil, bad("id is %s: must be a string", shortText(value))
			}
			r.ID = value
		case "inputs":
			inputs = value
		case "outputs":
			err = r.readOutputs(value)
		case "parameters":
			err = r.readParameters(value)
		}
		if err != nil {
			return nil, err
		}
	}
	if inputs == nil || rawjson.KindOf(inputs) != rawjson.KindArray {
		return nil, bad("inputs is %s: must be a list of tensors", orAbsent(inputs))
	}
	for _, value := range rawjson.Items(inputs) {
		if len(r.Inputs) == MaxMembers {
			return nil, tooMany("inputs")
		}
		t, size, err := readTensor(value)
		if err != nil {
			return nil, err
		}
		if size >= 0 {
			if size > len(rest) {
				return nil, bad("input %q: binary_data_size is %d, but %d bytes are left of the body", t.shown(), size, len(rest))
			}
			t.Raw, rest = rest[:size:size], rest[size:]
			n, _ := count(t.Shape)
			if err := t.checkRaw(n); err != nil {
				return nil, err
			}
		}
		r.Inputs = append(r.Inputs, t)
	}
	if len(rest) > 0 {
		return nil, bad("%d bytes follow the last binary tensor: the sizes must add up to the body", len(rest))
	}
	return r, nil
}

// CheckParameter refuses parameters of Triton's that change what is asked for. of names their owner: " of an input".
func CheckParameter(name, of string) *protocol.Error {
	if strings.HasPrefix(name, "sequence_") {
		return bad("parameter %q%s is not supported: sequences go by gRPC's ModelStreamInfer, to models with a streamed input",
			shortText([]byte(name)), of)
	}
	if strings.HasPrefix(name, "shared_memory_") || name == "classification" {
		return bad("parameter %q%s is not supported", shortText([]byte(name)), of)
	}
	return nil
}

func (r *Request) readParameters(raw []byte) *protocol.Error {
	return eachParameter(raw, func(name string, value []byte) *protocol.Error {
		if name == "binary_data_output" {
			var err *protocol.Error
			r.Binary, err = truth(name, value)
			return err
		}
		if len(r.Parameters) == MaxMembers {
			return tooMany("parameters")
		}
		r.Parameters = append(r.Parameters, Parameter{name, value})
		return CheckParameter(name, "")
	})
}

// truth returns the value of a parameter that is true or false.
func truth(name string, value []byte) (bool, *protocol.Error) {
	on := string(value) == "true"
	if !on && string(value) != "false" {
		return false, bad("%s is %s: must be true or false", name, shortText(value))
	}
	return on, nil
}

func eachParameter(raw []byte, f func(name string, value []byte) *protocol.Error) *protocol.Error {
	if rawjson.KindOf(raw) != rawjson.KindObject {
		return bad("parameters is %s: must be an object", shortText(raw))
	}
	for key, value := range rawjson.Members(raw) {
		if err := f(rawjson.Name(key), value); err != nil {
			return err
		}
	}
	return nil
}

func (r *Request) readOutputs(raw []byte) *protocol.Error {
	if rawjson.KindOf(raw) != rawjson.KindArray {
		return bad("outputs is %s: must be a list", shortText(raw))
	}
	for _, value := range rawjson.Items(raw) {
		if rawjson.KindOf(value) != rawjson.KindObject {
			return bad("an output is %s: must be an object", shortText(value))
		}
		w, name := Wanted{}, []byte(nil)
		for key, v := range rawjson.Members(value) {
			if string(v) == "null" {
				continue
			}
			var err *protocol.Error
			switch rawjson.Name(key) {
			case "name":
				name, w.Name = v, rawjson.Text(v)
			case "parameters":
				err = eachParameter(v, func(name string, value []byte) *protocol.Error {
					if name == "binary_data" {
						on, err := truth(name, value)
						w.Binary = &on
						return err
					}
					return CheckParameter(name, " of an output")
				})
			}
			if err != nil {
				return err
			}
		}
		if rawjson.KindOf(name) != rawjson.KindString {
			return noName("an output", name)
		}
		if err := r.Want(w); err != nil {
			return err
		}
	}
	return nil
}

// noName refuses a tensor whose name is not a string.
func noName(of string, name []byte) *protocol.Error {
	return bad("the name of %s is %s: must be a string", of, orAbsent(name))
}

// MaxMembers is how many inputs, outputs or parameters a request may have: each takes far more memory than its bytes.
const MaxMembers = 1000

func tooMany(what string) *protocol.Error {
	return bad("the request has more than %d %s", MaxMembers, what)
}

// Want adds an output to those that are asked for.
func (r *Request) Want(w Wanted) *protocol.Error {
	if len(r.Outputs) == MaxMembers {
		return tooMany("outputs")
	}
	for _, other := range r.Outputs {
		if other.Name == w.Name {
			return bad("output %q is asked for twice", shortText([]byte(w.Name)))
		}
	}
	r.Outputs = append(r.Outputs, w)
	return nil
}

// BadDatatype refuses the datatype of an input; "" means it has none.
func BadDatatype(input, datatype string) *protocol.Error {
	names := make([]string, len(datatypes))
	for i, d := range datatypes {
		names[i] = d.Name
	}
	return bad("input %q: datatype is %s: must be one of %s", shortText([]byte(input)), orAbsent([]byte(datatype)),
		strings.Join(names, ", "))
}

// orAbsent shows a JSON value in a message.
func orAbsent(raw []byte) string {
	if len(raw) == 0 {
		return "absent"
	}
	return shortText(raw)
}

// readTensor reads an input. size is how many bytes it has after the JSON; negative means its data is in the JSON.
func readTensor(raw []byte) (t Tensor, size int, _ *protocol.Error) {
	size = -1
	if rawjson.KindOf(raw) != rawjson.KindObject {
		return t, size, bad("an input is %s: must be an object", shortText(raw))
	}
	var name, datatype, shape, data []byte
	for key, v := range rawjson.Members(raw) {
		if string(v) == "null" {
			continue
		}
		switch rawjson.Name(key) {
		case "name":
			name, t.Name = v, rawjson.Text(v)
		case "datatype":
			datatype = v
		case "shape":
			shape = v
		case "data":
			data = v
		case "parameters":
			err := eachParameter(v, func(name string, value []byte) *protocol.Error {
				if name == "binary_data_size" {
					n, err := strconv.Atoi(string(value))
					if err != nil || n < 0 {
						return bad("binary_data_size is %s: must be a number of bytes", shortText(value))
					}
					size = n
				}
				return CheckParameter(name, " of an input")
			})
			if err != nil {
				return t, size, err
			}
		}
	}
	if rawjson.KindOf(name) != rawjson.KindString {
		return t, size, noName("an input", name)
	}
	var known bool
	if t.Type, known = DatatypeNamed(rawjson.Text(datatype[:min(len(datatype), maxDatatype)])); !known {
		return t, size, BadDatatype(t.Name, string(datatype))
	}
	n, err := t.readShape(shape)
	switch {
	case err != nil:
		return t, size, err
	case size >= 0 && data != nil:
		return t, size, bad("input %q has both data and binary_data_size", t.shown())
	case size >= 0:
		return t, size, nil
	}
	return t, size, t.readData(data, n)
}

// readShape reads a shape, and returns how many elements it has.
func (t *Tensor) readShape(shape []byte) (int64, *protocol.Error) {
	if rawjson.KindOf(shape) != rawjson.KindArray {
		return 0, bad("input %q: shape is %s: must be a list of lengths", t.shown(), orAbsent(shape))
	}
	t.Shape = []int64{}
	for _, v := range rawjson.Items(shape) {
		length, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil || length < 0 {
			return 0, bad("input %q: shape has the invalid length %s", t.shown(), shortText(v))
		}
		t.Shape = append(t.Shape, length)
	}
	n, ok := count(t.Shape)
	if !ok || len(t.Shape) > maxRank {
		return 0, bad("input %q: shape %s is too large", t.shown(), shortText(shape))
	}
	return n, nil
}

// readData reads n elements of JSON.
func (t *Tensor) readData(data []byte, n int64) *protocol.Error {
	switch {
	case data == nil:
		return bad("input %q has no data: send a list, or binary_data_size", t.shown())
	case rawjson.KindOf(data) != rawjson.KindArray:
		return bad("input %q: data is %s: must be a list", t.shown(), shortText(data))
	}
	tokens, flat := flatten(nil, data)
	if t.Tokens = tokens; n == 0 && len(tokens) == 0 {
		t.Raw = []byte{} // nested lists would lose a shape such as [0,3]
	}
	switch {
	case int64(len(t.Tokens)) != n:
		return bad("input %q: data has %d elements, but shape %s has %d", t.shown(), len(t.Tokens), shapeText(t.Shape), n)
	case !flat && !isNested(data, t.Shape):
		return bad("input %q: data is %s: for shape %s it must be a flat list, or lists within lists of these lengths",
			t.shown(), shortText(data), shapeText(t.Shape))
	}
	return t.checkTokens()
}

const maxRank = 32

// maxDatatype is how many bytes of a datatype are read: each is shorter.
const maxDatatype = 64

// flatten appends the elements of nested lists. flat means that raw has no list in it.
func flatten(dst [][]byte, raw []byte) (_ [][]byte, flat bool) {
	flat = true
	for _, v := range rawjson.Items(raw) {
		if rawjson.KindOf(v) == rawjson.KindArray {
			dst, _ = flatten(dst, v)
			flat = false
		} else {
			dst = append(dst, v)
		}
	}
	return dst, flat
}

// isNested reports whether raw is nested lists of a shape's lengths.
func isNested(raw []byte, shape []int64) bool {
	if len(shape) == 0 || rawjson.KindOf(raw) != rawjson.KindArray {
		return len(shape) == 0 && rawjson.KindOf(raw) != rawjson.KindArray
	}
	length := int64(0)
	for a := rawjson.Array(raw); ; length++ {
		v, ok := a.Next()
		if !ok {
			return length == shape[0]
		}
		if !isNested(v, shape[1:]) {
			return false
		}
	}
}

// checkTokens requires each element to be one of the datatype.
func (t *Tensor) checkTokens() *protocol.Error {
	var scratch [8]byte
	for i, token := range t.Tokens {
		ok := false
		if t.Type.Size == 0 {
			ok = rawjson.KindOf(token) == rawjson.KindString
		} else {
			_, ok = t.Type.appendRaw(scratch[:0], token)
		}
		if !ok {
			return bad("input %q: element %d: %s is not a valid %s", t.shown(), i, shortText(token), t.Type.Name)
		}
	}
	return nil
}
