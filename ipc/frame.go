package ipc

import (
	"encoding/binary"
	"fmt"

	"pinion/runtime/spare"
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
	// ownedMin is the smallest inline body that gets memory of its own instead of a place in the
	// reader's buffer: beyond it a copy costs more than an allocation.
	ownedMin = 64 << 10
)

// Flags of a frame.
const (
	// FlagFile: the body is a memory file, passed with the header's first byte; length is 0.
	FlagFile = 1 << 0
	// FlagEvents, on a Predict: tell what happens as it happens, and not only at the end.
	FlagEvents = 1 << 1
	// FlagTrain, on a Predict: it is the train function that is meant.
	FlagTrain = 1 << 2
	// FlagHeld, on a Predict: it waits for the Batch that names it.
	FlagHeld = 1 << 3

	flags = FlagFile | FlagEvents | FlagTrain | FlagHeld
)

// Kind says what a frame means. The values are the protocol: never reuse one.
type Kind uint8

const (
	// Front to worker, on a slot's channel.

	KindPredict Kind = 1 // {"input":{…},"context":{…},"files":{"folder":"…","token":"…"}}
	KindBatch   Kind = 2 // {"ids":[…]}: run these together; id is the batch's own
	KindDrop    Kind = 3 // {"ids":[…]}: nobody wants these any more

	// Worker to front, on a slot's channel.

	KindSucceeded Kind = 16 // {"metrics":{…},"output":…}; ends the prediction
	KindFailed    Kind = 17 // {"metrics":{…},"error":"…"}; ends the prediction
	KindCanceled  Kind = 18 // {"metrics":{…}}; ends the prediction
	KindLog       Kind = 19 // {"source":"stdout","data":"…"}: text that Python tells apart itself
	KindLogMark   Kind = 20 // {"stdout":n,"stderr":n[,"own_stdout":n,"own_stderr":n]}: what the pipes hold up to here is this id's
	KindStarted   Kind = 21 // no body: the model has it now; only with FlagEvents, like the next two
	KindOutput    Kind = 22 // one item that the model yielded, any JSON value
	KindMetric    Kind = 23 // {"name":"…","value":…,"mode":"replace"|"increment"|"append"}
	KindPrepared  Kind = 24 // no body: what comes before its batch is done
	KindBatchDone Kind = 25 // {"runs":n,"size":n,"failed":…}: the function has ended; nanos is what it took

	KindLogPipe     Kind = 26 // no body: the read end of a pipe comes with it (FlagFile); nanos is 0 for stdout, 1 for stderr
	KindLogPipesEnd Kind = 27 // no body: what comes through those pipes after the last mark is nobody's

	// Worker to front, on the control channel.

	KindHello       Kind = 32 // {"protocol":1,"pid":…,"python":"3.12.1","executable":"…"}
	KindLoaded      Kind = 33 // {"cog":"…","slots":n,"async":…,"schema":{…}}
	KindReady       Kind = 34 // {"seconds":…,"stdout":n,"stderr":n}
	KindSetupFailed Kind = 35 // {"error":"…","seconds":…,"stdout":n,"stderr":n,"problem":{…}}
	KindCUDA        Kind = 36 // the report of pyembed/cuda, at any time
	KindHealthy     Kind = 37 // {"ok":true} or {"ok":false,"error":"…"}: the answer to the Health of that id
	KindPong        Kind = 38 // no body: the answer to KindPing

	// Template to front, on the template's channel.

	KindTemplate Kind = 39 // {}: workers may be forked; {"refused":"…"}: none can be, and why
	KindForked   Kind = 40 // {"pid":…} or {"error":"…"}: the answer to KindFork

	// Front to worker, on the control channel.

	KindSlot     Kind = 48 // no body: id is the slot's index; the socket comes with it (FlagFile)
	KindShutdown Kind = 49 // {}: finish what runs, then leave
	KindHealth   Kind = 50 // {}: run the model's healthcheck; id is the front's serial number
	KindPing     Kind = 51 // no body: a sign of life is asked for

	// Front to template, on the template's channel.

	KindHandle Kind = 52 // no body: id is the place of the descriptor that comes with it (FlagFile), among a worker's
	KindFork   Kind = 53 // {"spec":{…},"env":{…}}: fork a worker that has the handles sent before
)

// Ends tells whether a frame of this kind ends its prediction.
func (k Kind) Ends() bool { return k >= KindSucceeded && k <= KindCanceled }

// Frame is one message. It is valid during the call that hands it on, and so is Body unless Own is called.
type Frame struct {
	Kind  Kind
	Flags uint8
	ID    uint64
	Nanos uint64
	Body  []byte

	owned  bool // Body is memory of its own
	mapped bool // Body is a mapping
	fd     int  // of a KindLogPipe, plus 1; 0: there is none
}

// Descriptor hands over the descriptor that came with the frame, or -1. Only a KindLogPipe has one.
func (f *Frame) Descriptor() int {
	fd := f.fd - 1
	f.fd = 0
	return fd
}

// Own returns the body for keeps and what gives it back (nil where there is nothing to give back).
func (f *Frame) Own() (body []byte, release func()) {
	switch {
	case f.mapped:
		m := f.Body
		f.mapped = false // the receiver's now
		return m, func() { unmap(m) }
	case f.owned:
		b := f.Body
		f.owned = false // the receiver's now
		return b, func() { spare.Put(b) }
	default:
		return append([]byte(nil), f.Body...), nil
	}
}

// Large tells whether Own takes the body without a copy.
func (f *Frame) Large() bool { return f.owned || f.mapped }

// AppendHeader appends a frame's header to dst.
func AppendHeader(dst []byte, kind Kind, flags uint8, id uint64, nanos uint64, length int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(length))
	dst = append(dst, byte(kind), flags, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, id)
	return binary.LittleEndian.AppendUint64(dst, nanos)
}

// header is a decoded header.
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
