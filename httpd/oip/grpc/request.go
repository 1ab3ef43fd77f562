package grpc

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strconv"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/httpd/oip"
	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// request turns a message into a request. Its tensors refer to the message's bytes where they can.
func request(msg *pb.ModelInferRequest) (*oip.Request, *protocol.Error) {
	raw := msg.GetRawInputContents()
	r := &oip.Request{Binary: true, GRPC: true}
	if n := max(len(msg.GetInputs()), len(msg.GetParameters())); n > oip.MaxMembers {
		return nil, bad("the request has %d inputs or parameters: must have at most %d", n, oip.MaxMembers)
	}
	if len(raw) > 0 && len(raw) != len(msg.GetInputs()) {
		return nil, bad("raw_input_contents has %d entries, but there are %d inputs: must have one for each input", len(raw),
			len(msg.GetInputs()))
	}
	for i, in := range msg.GetInputs() {
		t := oip.Tensor{Name: in.GetName(), Shape: in.GetShape()}
		var known bool
		if t.Type, known = oip.DatatypeNamed(in.GetDatatype()); !known {
			return nil, oip.BadDatatype(t.Name, in.GetDatatype())
		}
		for name := range in.GetParameters() {
			if err := oip.CheckParameter(name, " of an input"); err != nil {
				return nil, err
			}
		}
		switch {
		case len(raw) > 0 && in.GetContents() != nil:
			return nil, bad("input %q has contents, but the request has raw_input_contents: send one of them",
				logtext.Clip(t.Name))
		case len(raw) > 0:
			t.Raw = raw[i]
		default:
			var err *protocol.Error
			if t.Raw, err = rawContents(&t, in.GetContents()); err != nil {
				return nil, err
			}
			r.Binary = false
		}
		if t.Raw == nil {
			t.Raw = []byte{}
		}
		if err := t.Check(); err != nil {
			return nil, err
		}
		r.Inputs = append(r.Inputs, t)
	}
	for _, out := range msg.GetOutputs() {
		for name := range out.GetParameters() {
			if err := oip.CheckParameter(name, " of an output"); err != nil {
				return nil, err
			}
		}
		if err := r.Want(oip.Wanted{Name: out.GetName()}); err != nil {
			return nil, err
		}
	}
	parameters := msg.GetParameters()
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if err := oip.CheckParameter(name, ""); err != nil {
			return nil, err
		}
		value, err := parameter(name, parameters[name])
		if err != nil {
			return nil, err
		}
		r.Parameters = append(r.Parameters, oip.Parameter{Name: name, Value: value})
	}
	return r, nil
}

func bad(format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.BadInput, format, args...)
}

// parameter returns a parameter as JSON.
func parameter(name string, p *pb.InferParameter) ([]byte, *protocol.Error) {
	switch v := p.GetParameterChoice().(type) {
	case *pb.InferParameter_BoolParam:
		return strconv.AppendBool(nil, v.BoolParam), nil
	case *pb.InferParameter_Int64Param:
		return strconv.AppendInt(nil, v.Int64Param, 10), nil
	case *pb.InferParameter_Uint64Param:
		return strconv.AppendUint(nil, v.Uint64Param, 10), nil
	case *pb.InferParameter_StringParam:
		return rawjson.AppendQuoted(nil, v.StringParam), nil
	case *pb.InferParameter_DoubleParam:
		if math.IsNaN(v.DoubleParam) || math.IsInf(v.DoubleParam, 0) {
			return nil, bad("parameter %q is not finite", logtext.Clip(name))
		}
		return strconv.AppendFloat(nil, v.DoubleParam, 'g', -1, 64), nil
	}
	return nil, bad("parameter %q has no value", logtext.Clip(name))
}

// rawContents returns the binary form of a tensor's typed contents.
func rawContents(t *oip.Tensor, c *pb.InferTensorContents) (raw []byte, err *protocol.Error) {
	le := binary.LittleEndian
	elements := 0
	switch t.Type.Name {
	case "BOOL":
		raw, elements = packed(c.GetBoolContents())
	case "INT8", "INT16", "INT32":
		elements = len(c.GetIntContents())
		bits := 8 * t.Type.Size
		raw = make([]byte, 0, elements*t.Type.Size+4) // see the append
		for i, v := range c.GetIntContents() {
			if v>>(bits-1) != v>>31 {
				return nil, bad("input %q: element %d: %d is not a valid %s", logtext.Clip(t.Name), i, v, t.Type.Name)
			}
			raw = le.AppendUint32(raw, uint32(v))[:len(raw)+t.Type.Size]
		}
	case "UINT8", "UINT16", "UINT32":
		elements = len(c.GetUintContents())
		raw = make([]byte, 0, elements*t.Type.Size+4)
		for i, v := range c.GetUintContents() {
			if uint64(v)>>(8*t.Type.Size) != 0 {
				return nil, bad("input %q: element %d: %d is not a valid %s", logtext.Clip(t.Name), i, v, t.Type.Name)
			}
			raw = le.AppendUint32(raw, v)[:len(raw)+t.Type.Size]
		}
	case "INT64":
		raw, elements = packed(c.GetInt64Contents())
	case "UINT64":
		raw, elements = packed(c.GetUint64Contents())
	case "FP32":
		raw, elements = packed(c.GetFp32Contents())
	case "FP64":
		raw, elements = packed(c.GetFp64Contents())
	case oip.Bytes:
		elements = len(c.GetBytesContents())
		raw = make([]byte, 0, bytesLen(c.GetBytesContents()))
		for _, v := range c.GetBytesContents() {
			raw = append(le.AppendUint32(raw, uint32(len(v))), v...)
		}
	default:
		return nil, bad("input %q: contents cannot hold %s: send raw_input_contents", logtext.Clip(t.Name), t.Type.Name)
	}
	if filled := filledContents(c); filled != elements {
		return nil, bad("input %q is %s, but contents has %d elements in the fields of other datatypes", logtext.Clip(t.Name),
			t.Type.Name, filled-elements)
	}
	return raw, nil
}

// packed returns the elements of a list as a tensor has them, and how many they are.
func packed[E any](list []E) ([]byte, int) {
	raw, _ := binary.Append(nil, binary.LittleEndian, list) // of a fixed size each, so no error
	return raw, len(list)
}

// bytesLen returns how many bytes a tensor of these elements has.
func bytesLen(elements [][]byte) (n int) {
	for _, v := range elements {
		n += 4 + len(v)
	}
	return n
}

// filledContents returns how many elements all fields have.
func filledContents(c *pb.InferTensorContents) int {
	return len(c.GetBoolContents()) + len(c.GetIntContents()) + len(c.GetInt64Contents()) + len(c.GetUintContents()) +
		len(c.GetUint64Contents()) + len(c.GetFp32Contents()) + len(c.GetFp64Contents()) + len(c.GetBytesContents())
}
