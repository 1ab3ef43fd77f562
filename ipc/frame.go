package ipc

import (
	"encoding/binary"
	"fmt"

	"pinion/ipc/bufpool"
)

// HeaderSize is the length of a frame's header in bytes:
//
//	 0       4     5      6     8               16              24
//	+--------+-----+------+-----+---------------+---------------+----------
//	| length |kind |flags |  0  |      id       |     nanos     | body …
//	+--------+-----+------+-----+---------------+---------------+----------
//
// All integers are little-endian. length counts the body alone. nanos is how long the model had
// the prediction, in nanoseconds, in the frames that end one; 0 elsewhere.
const HeaderSize = 24

const (
	// InlineMax is the largest body, in bytes, that travels in the socket itself.
	InlineMax = 16 << 20
	// ownedMin is the smallest inline body that gets separate memory instead of a place in the
	// reader's buffer: beyond it a copy costs more than an allocation.
	ownedMin = 64 << 10
)

const (
	// FlagFile means that the body is a memory file, passed with the header's first byte; length is 0.
	FlagFile = 1 << 0
	// FlagEvents, on a Predict, makes the worker report events as they happen, and not only at the end.
	FlagEvents = 1 << 1
	// FlagTrain, on a Predict, means that the request is for the train function.
	FlagTrain = 1 << 2
	// FlagBatchItem, on a Predict, means that it waits for the Batch that names it.
	FlagBatchItem = 1 << 3
	// FlagTrace, on a Predict, makes the worker report its times, for spans.
	FlagTrace = 1 << 4
	// FlagKept, on an answer, means that the model still uses the memory file of the request.
	FlagKept = 1 << 5
	// FlagBinary, on an Item, means that its body is no JSON.
	FlagBinary = 1 << 6
	// FlagFunction, on a Predict, means that its member "function" names the function that it is for.
	FlagFunction = 1 << 7

	flags = FlagFile | FlagEvents | FlagTrain | FlagBatchItem | FlagTrace | FlagKept | FlagBinary | FlagFunction
)

// Frame is one message. It is valid during the call of the handler, and so is Body unless Own is called.
type Frame struct {
	Kind  Kind
	Flags uint8
	ID    uint64
	Nanos uint64
	Body  []byte

	owned  bool // Body is separate memory
	mapped bool // Body is a mapping
	fd     int  // of a KindLogPipe or KindCalls, plus 1; 0 if there is none
}

// Descriptor hands over the descriptor that came with the frame, or returns -1. Only a KindLogPipe and a KindCalls have
// one, and every frame with a file after Conn.KeepFiles; that of a KindCalls is -1 if the process could have no more.
func (f *Frame) Descriptor() int {
	fd := f.fd - 1
	f.fd = 0
	return fd
}

// Own hands the body over to the caller, with the function that frees it (nil if there is nothing to free).
func (f *Frame) Own() (body []byte, release func()) {
	switch {
	case f.mapped:
		m := f.Body
		f.mapped = false // the receiver's now
		return m, func() { unmap(m) }
	case f.owned:
		b := f.Body
		f.owned = false // the receiver's now
		return b, func() { bufpool.Put(b) }
	default:
		return append([]byte(nil), f.Body...), nil
	}
}

func AppendHeader(dst []byte, kind Kind, flags uint8, id uint64, nanos uint64, length int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(length))
	dst = append(dst, byte(kind), flags, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, id)
	return binary.LittleEndian.AppendUint64(dst, nanos)
}

type header struct {
	length uint32
	kind   Kind
	flags  uint8
	id     uint64
	nanos  uint64
}

// parseHeader decodes the first HeaderSize bytes of b.
func parseHeader(b []byte) (header, error) {
	h := header{
		length: binary.LittleEndian.Uint32(b),
		kind:   Kind(b[4]),
		flags:  b[5],
		id:     binary.LittleEndian.Uint64(b[8:]),
		nanos:  binary.LittleEndian.Uint64(b[16:]),
	}
	switch {
	case b[6] != 0 || b[7] != 0 || h.flags&^flags != 0 || h.kind == 0:
		return h, fmt.Errorf("%w: header % x", ErrProtocol, b[:HeaderSize])
	case h.flags&FlagFile != 0 && h.length != 0:
		return h, fmt.Errorf("%w: a file frame with an inline body of %d bytes", ErrProtocol, h.length)
	case h.length > InlineMax:
		return h, fmt.Errorf("%w: an inline body of %d bytes, the limit is %d", ErrProtocol, h.length, InlineMax)
	}
	return h, nil
}
