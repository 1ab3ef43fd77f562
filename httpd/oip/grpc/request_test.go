package grpc

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/httpd/oip"
	"pinion/httpd/protocol"
	"pinion/tests/assert"
)

func tensor(datatype string, shape []int64, c *pb.InferTensorContents) *pb.ModelInferRequest_InferInputTensor {
	return &pb.ModelInferRequest_InferInputTensor{Name: "x", Datatype: datatype, Shape: shape, Contents: c}
}

// TestRequest_Refusals compares the messages for invalid requests.
func TestRequest_Refusals(t *testing.T) {
	ints := &pb.InferTensorContents{IntContents: []int32{300}}
	sequence := map[string]*pb.InferParameter{
		"sequence_id": {ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: 1}},
	}
	for want, msg := range map[string]*pb.ModelInferRequest{
		"datatype is FP8: must be one of BOOL": {
			Inputs: []*pb.ModelInferRequest_InferInputTensor{tensor("FP8", []int64{1}, ints)},
		},
		"element 0: 300 is not a valid INT8": {
			Inputs: []*pb.ModelInferRequest_InferInputTensor{tensor("INT8", []int64{1}, ints)},
		},
		"in the fields of other":    {Inputs: []*pb.ModelInferRequest_InferInputTensor{tensor("FP32", []int64{1}, ints)}},
		"contents cannot hold FP16": {Inputs: []*pb.ModelInferRequest_InferInputTensor{tensor("FP16", []int64{1}, ints)}},
		"got 4 bytes, but INT32 of shape [2] has 8": {
			Inputs: []*pb.ModelInferRequest_InferInputTensor{tensor("INT32", []int64{2}, ints)},
		},
		"negative length": {Inputs: []*pb.ModelInferRequest_InferInputTensor{tensor("INT32", []int64{-1}, ints)}},
		"has 2 entries": {
			Inputs:           []*pb.ModelInferRequest_InferInputTensor{tensor("INT32", []int64{1}, nil)},
			RawInputContents: [][]byte{{}, {}},
		},
		"send one of them": {
			Inputs:           []*pb.ModelInferRequest_InferInputTensor{tensor("INT32", []int64{1}, ints)},
			RawInputContents: [][]byte{{1, 0, 0, 0}},
		},
		"is not supported":   {Parameters: sequence},
		`"p" has no value`:   {Parameters: map[string]*pb.InferParameter{"p": {}}},
		"is asked for twice": {Outputs: []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "a"}, {Name: "a"}}},
		"each after its length": {
			Inputs:           []*pb.ModelInferRequest_InferInputTensor{tensor(oip.Bytes, []int64{1}, nil)},
			RawInputContents: [][]byte{{9, 0, 0, 0}},
		},
	} {
		_, err := request(msg)
		assert.True(t, err != nil && strings.Contains(err.Error(), want), "%v, want %q", err, want)
	}
}

// TestRequest_RefusalsAreShort: what a client sends is cut in the status, and a request with too many members is
// refused.
func TestRequest_RefusalsAreShort(t *testing.T) {
	long := tensor("FP8", []int64{1}, nil)
	long.Name = strings.Repeat("n", 1<<20)
	many := make([]*pb.ModelInferRequest_InferInputTensor, oip.MaxMembers+1)
	for i := range many {
		many[i] = tensor("INT32", []int64{0}, nil)
	}
	for _, inputs := range [][]*pb.ModelInferRequest_InferInputTensor{{long}, many} {
		_, err := request(&pb.ModelInferRequest{Inputs: inputs})
		assert.True(t, err != nil && len(err.Error()) <= 500, "%d inputs: %.400v, want a short refusal", len(inputs), err)
	}
}

// TestRequest_SmallFieldsDoNotFillMemory: a message of many empty inputs, or of an input with many fields, is refused
// before it is decoded, and a large tensor is not.
func TestRequest_SmallFieldsDoNotFillMemory(t *testing.T) {
	inside := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType),
		bytes.Repeat([]byte{4<<3 | 2, 0}, maxFields))
	shape := protowire.AppendBytes(protowire.AppendTag(nil, shapeField, protowire.BytesType), make([]byte, maxFields))
	shape = protowire.AppendBytes(protowire.AppendTag(nil, inputsField, protowire.BytesType), shape)
	large := assert.Must(proto.Marshal(&pb.ModelInferRequest{Inputs: []*pb.ModelInferRequest_InferInputTensor{
		tensor(oip.Bytes, []int64{maxFields + 1}, &pb.InferTensorContents{BytesContents: make([][]byte, maxFields+1)}),
	}}))(t)
	for _, c := range []struct {
		data []byte
		want codes.Code
	}{
		{bytes.Repeat([]byte{5<<3 | 2, 0}, maxFields+1), codes.InvalidArgument},
		{inside, codes.InvalidArgument},
		{shape, codes.InvalidArgument},
		{large, codes.OK},
	} {
		msg := new(pb.ModelInferRequest)
		err := unmarshal(c.data, msg, func(int64) *protocol.Error { return nil })
		assert.True(t, status.Code(err) == c.want && (c.want == codes.OK || len(msg.GetInputs()) == 0),
			"%d bytes: %v with %d inputs, want %v", len(c.data), err, len(msg.GetInputs()), c.want)
	}
}

// TestRequest_ElementsAreMeasured: what decoded elements take is known before they are decoded, packed or not.
func TestRequest_ElementsAreMeasured(t *testing.T) {
	const n = 100_000
	unpacked := bytes.Repeat([]byte{3 << 3, 1}, n) // int64_contents, a varint
	for field := protowire.Number(1); field <= bytesField; field++ {
		contents := bytes.Repeat([]byte{bytesField<<3 | 2, 0}, n)
		least := int64(24 + 4) // a slice, and its length in the binary tensor
		if field < bytesField {
			packed := make([]byte, n)
			if field == 6 || field == 7 {
				packed = make([]byte, n*widths[field])
			}
			contents = protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), packed)
			least = 2 * widths[field]
		}
		for _, data := range [][]byte{contents, slices.Concat(unpacked, contents)} {
			want := n * least
			if len(data) > len(contents) {
				want += n * 16
			}
			input := protowire.AppendBytes(protowire.AppendTag(nil, contentsField, protowire.BytesType), data)
			message := protowire.AppendBytes(protowire.AppendTag(nil, inputsField, protowire.BytesType), input)
			charged := int64(0)
			refused := protocol.Errorf(protocol.Waited, "no room")
			msg := new(pb.ModelInferRequest)
			err := unmarshal(message, msg, func(bytes int64) *protocol.Error { charged = bytes; return refused })
			assert.True(t, errors.Is(err, error(refused)) && charged >= want && charged <= 3*want && len(msg.GetInputs()) == 0,
				"field %d: %v with %d bytes charged, want at least %d", field, err, charged, want)
		}
	}
}

// FuzzRequest: no message panics; what is read has the size of its shape, and survives typed contents.
func FuzzRequest(f *testing.F) {
	for _, msg := range []*pb.ModelInferRequest{
		{
			Inputs:           []*pb.ModelInferRequest_InferInputTensor{tensor("FP16", []int64{2}, nil)},
			RawInputContents: [][]byte{{1, 2, 3, 4}},
		},
		{
			Inputs:           []*pb.ModelInferRequest_InferInputTensor{tensor(oip.Bytes, []int64{1}, nil)},
			RawInputContents: [][]byte{{1, 0, 0, 0, 'a'}},
		},
		{Inputs: []*pb.ModelInferRequest_InferInputTensor{
			tensor("INT8", []int64{2}, &pb.InferTensorContents{IntContents: []int32{-1, 127}}),
		}},
		{Parameters: map[string]*pb.InferParameter{"k": {ParameterChoice: &pb.InferParameter_DoubleParam{DoubleParam: 2}}}},
	} {
		seed := assert.Must(proto.Marshal(msg))(f)
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msg := new(pb.ModelInferRequest)
		if proto.Unmarshal(data, msg) != nil {
			return
		}
		r, err := request(msg)
		if err != nil {
			return
		}
		for i := range r.Inputs {
			in := &r.Inputs[i]
			if err := in.Check(); err != nil {
				t.Fatalf("got %+v, want nil", err)
			}
			if in.Type.Name == "FP16" {
				continue
			}
			again, err := rawContents(in, typedContents(in.Type, in.Raw))
			assert.TrueNow(t, err == nil && bytes.Equal(again, in.Raw),
				"%s: %x became %x (%v), want err nil and again %q", in.Type.Name, in.Raw, again, err, in.Raw)
		}
	})
}
