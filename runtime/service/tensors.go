package service

import (
	"pinion/ipc"
	"pinion/runtime/predict"
)

// withTensors returns input in parts, with the tensors in the places of their placeholders. The tensors' bytes are not copied.
func withTensors(input []byte, tensors []predict.Tensor) [][]byte {
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

// withoutTensors takes the tensors out of a worker's output, and leaves placeholders in their places. Without tensors, or if one
// cannot be read, it returns output itself. The tensors lie in output.
func withoutTensors(output []byte) (json []byte, tensors []predict.Tensor) {
	before, t, after, ok := ipc.CutTensor(output)
	for ; ok; before, t, after, ok = ipc.CutTensor(after) {
		json = predict.AppendTensor(append(json, before...), len(tensors), "array")
		tensors = append(tensors, predict.Tensor(t))
	}
	if tensors == nil || ipc.HasTensor(before) { // the rest, which has no tensor
		return output, nil
	}
	return append(json, before...), tensors
}
