package server

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"pinion/httpd/oip"
	"pinion/httpd/protocol"
	"pinion/ipc"
	"pinion/runtime/predict"
)

// withTensors replaces the placeholders of arrays by nested lists: jobs are JSON.
func withTensors(input []byte, tensors []predict.Tensor) ([]byte, error) {
	if len(tensors) == 0 {
		return input, nil
	}
	var out []byte
	for {
		before, number, after, ok := predict.CutTensor(input)
		out = append(out, before...)
		if !ok {
			return out, nil
		}
		if number < 0 || number >= len(tensors) {
			return nil, fmt.Errorf("tensor %d is missing", number)
		}
		list := tensorList{Tensor: &tensors[number]}
		if out = list.append(out, 0); list.err != nil {
			return nil, list.err
		}
		input = after
	}
}

// tensorList writes a tensor as nested lists.
type tensorList struct {
	*predict.Tensor
	at  int // of the next element's bytes
	err error
}

func (t *tensorList) append(dst []byte, dimension int) []byte {
	if dimension == len(t.Shape) {
		return t.element(dst)
	}
	dst = append(dst, '[')
	for i := range t.Shape[dimension] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = t.append(dst, dimension+1)
	}
	return append(dst, ']')
}

func (t *tensorList) element(dst []byte) []byte {
	size := ipc.ElementSize(t.Code)
	if size == 0 || t.at+size > len(t.Data) {
		t.fail("its elements cannot be read")
		return append(dst, '0')
	}
	at := t.Data[t.at : t.at+size]
	t.at += size
	switch t.Code {
	case '?':
		return strconv.AppendBool(dst, at[0] != 0)
	case 'e':
		return t.float(dst, float64(oip.HalfToFloat(binary.LittleEndian.Uint16(at))), 32)
	case 'f':
		return t.float(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(at))), 32)
	case 'd':
		return t.float(dst, math.Float64frombits(binary.LittleEndian.Uint64(at)), 64)
	case 'b':
		return strconv.AppendInt(dst, int64(int8(at[0])), 10)
	case 'h':
		return strconv.AppendInt(dst, int64(int16(binary.LittleEndian.Uint16(at))), 10)
	case 'i':
		return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(at))), 10)
	case 'q':
		return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(at)), 10)
	}
	var wide [8]byte
	copy(wide[:], at)
	return strconv.AppendUint(dst, binary.LittleEndian.Uint64(wide[:]), 10)
}

func (t *tensorList) float(dst []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		t.fail("it has a number that is not finite")
		return append(dst, '0')
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

func (t *tensorList) fail(why string) {
	t.err = protocol.Errorf(protocol.BadInput,
		"the array does not fit into the job queue, which keeps JSON: %s. Send it to a server", why)
}
