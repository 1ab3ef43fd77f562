package service

import (
	"encoding/binary"
	"math"

	"pinion/ipc"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
)

// WithTensors returns input in parts, with the tensors in the places of their placeholders. The tensors' bytes are not
// copied.
func WithTensors(input []byte, tensors []predict.Tensor) [][]byte {
	parts := make([][]byte, 0, 3*len(tensors)+1)
	for {
		before, number, after, ok := predict.CutTensor(input)
		if !ok {
			return append(parts, input)
		}
		t := &tensors[number]
		parts = append(parts, before, ipc.AppendTensorHead(nil, t.Code, t.Shape, len(t.Data)), t.Data)
		input = after
	}
}

// sharedFile returns the memory that a request's tensors and those of its answer may lie in, or nil.
func sharedFile(req *predict.Request) *ipc.SharedFile {
	if req.Shared == nil || req.Tensors == nil && !req.WantTensors {
		return nil
	}
	return &ipc.SharedFile{FD: req.Shared.FD, Data: req.Shared.All, Room: req.Shared.Room}
}

// written returns how many bytes of tensors lie in the room of their request's shared memory.
func written(shared *memory.Shared, tensors []predict.Tensor) (bytes int) {
	if shared == nil {
		return 0
	}
	file := ipc.SharedFile{Data: shared.All}
	for i := range tensors {
		if at := file.Offset(tensors[i].Data); at >= shared.Room {
			bytes += len(tensors[i].Data)
			shared.Wrote(at + len(tensors[i].Data))
		}
	}
	return bytes
}

// textOf describes a tensor of an output in its placeholder.
func textOf(t *ipc.Tensor) string {
	if len(t.Shape) > 0 || t.Code != 'd' {
		return "array"
	}
	switch v := math.Float64frombits(binary.LittleEndian.Uint64(t.Data)); {
	case v > 0:
		return predict.Infinity
	case v < 0:
		return predict.NegInfinity
	}
	return predict.NaN
}

// WithoutTensors takes the tensors out of a worker's output, and leaves placeholders in their places. Without tensors,
// or if one cannot be read, it returns output itself. The tensors lie in output, or in shared.
func WithoutTensors(output []byte, shared *ipc.SharedFile) (json []byte, tensors []predict.Tensor) {
	before, t, after, ok := ipc.CutTensor(output, shared)
	for ; ok; before, t, after, ok = ipc.CutTensor(after, shared) {
		json = predict.AppendTensor(append(json, before...), len(tensors), textOf(&t))
		tensors = append(tensors, predict.Tensor(t))
	}
	if tensors == nil || ipc.HasTensor(before) { // the rest, which has no tensor
		return output, nil
	}
	return append(json, before...), tensors
}

// withPlaceholders returns an item with JSON in the places of its tensors.
func withPlaceholders(item []byte) []byte {
	if !ipc.HasTensor(item) {
		return item
	}
	json, _ := WithoutTensors(item, nil)
	return predict.WithPlaceholders(json, predict.Above)
}
