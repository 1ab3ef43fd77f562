package grpc

import (
	"encoding/binary"
	"errors"
)

// headerBlocks bounds the frames of a client's header blocks. The reader of HTTP/2 bounds their bytes, so a client
// could send empty CONTINUATION frames forever, in which it does not see that the call never begins.
type headerBlocks struct {
	skip   int // bytes to skip: of the client's preface, or of a frame's payload
	head   [frameHead]byte
	have   int // bytes of head
	frames int // CONTINUATION frames since the last other one
}

const (
	frameHead        = 9 // bytes of a frame's header: length 3, type, flags, stream 4
	continuation     = 9 // a frame's type
	prefaceSize      = 24
	maxContinuations = 64 // maxHeaders in the smallest frames that clients use
)

var errContinuations = errors.New("too many CONTINUATION frames in one header block")

// read looks at bytes that the client sent.
func (h *headerBlocks) read(p []byte) error {
	for len(p) > 0 {
		if n := min(h.skip, len(p)); n > 0 {
			h.skip -= n
			p = p[n:]
			continue
		}
		n := copy(h.head[h.have:], p)
		h.have += n
		if p = p[n:]; h.have < frameHead {
			return nil
		}
		h.have, h.skip = 0, int(binary.BigEndian.Uint32(h.head[:])>>8)
		if h.head[3] != continuation {
			h.frames = 0
		} else if h.frames++; h.frames > maxContinuations {
			return errContinuations
		}
	}
	return nil
}
