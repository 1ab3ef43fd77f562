package grpc

import (
	"encoding/binary"
	"math"
	"slices"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/httpd/oip"
	"pinion/httpd/protocol"
)

// response returns an answer with tensors, raw or in typed contents as the request was. FP16 has no typed contents.
func response(m *protocol.Model, id string, raw bool, tensors []oip.Tensor) (*pb.ModelInferResponse, *protocol.Error) {
	out := &pb.ModelInferResponse{ModelName: m.Name, ModelVersion: m.Version, Id: id}
	raw = raw || slices.ContainsFunc(tensors, func(t oip.Tensor) bool { return t.Type.Name == "FP16" })
	for i := range tensors {
		t := &tensors[i]
		elements, err := t.Bytes()
		if err != nil {
			return nil, protocol.Errorf(protocol.Failed, "output %q: %v", t.Name, err)
		}
		tensor := &pb.ModelInferResponse_InferOutputTensor{Name: t.Name, Datatype: t.Type.Name, Shape: t.Shape}
		if raw {
			out.RawOutputContents = append(out.RawOutputContents, elements)
		} else {
			tensor.Contents = typedContents(t.Type, elements)
		}
		out.Outputs = append(out.Outputs, tensor)
	}
	return out, nil
}

// typedContents returns the typed contents of a tensor's elements.
func typedContents(d oip.Datatype, raw []byte) *pb.InferTensorContents {
	c := new(pb.InferTensorContents)
	if d.Size == 0 {
		for len(raw) > 0 {
			size := binary.LittleEndian.Uint32(raw)
			c.BytesContents = append(c.BytesContents, raw[4:4+size])
			raw = raw[4+size:]
		}
		return c
	}
	var wide [8]byte
	for ; len(raw) > 0; raw = raw[d.Size:] {
		copy(wide[:], raw[:d.Size]) // the rest stays zero
		bits := binary.LittleEndian.Uint64(wide[:])
		switch d.Name {
		case "BOOL":
			c.BoolContents = append(c.BoolContents, bits != 0)
		case "INT8":
			c.IntContents = append(c.IntContents, int32(int8(bits)))
		case "INT16":
			c.IntContents = append(c.IntContents, int32(int16(bits)))
		case "INT32":
			c.IntContents = append(c.IntContents, int32(bits))
		case "INT64":
			c.Int64Contents = append(c.Int64Contents, int64(bits))
		case "UINT8", "UINT16", "UINT32":
			c.UintContents = append(c.UintContents, uint32(bits))
		case "UINT64":
			c.Uint64Contents = append(c.Uint64Contents, bits)
		case "FP32":
			c.Fp32Contents = append(c.Fp32Contents, math.Float32frombits(uint32(bits)))
		case "FP64":
			c.Fp64Contents = append(c.Fp64Contents, math.Float64frombits(bits))
		}
	}
	return c
}
