package grpc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"pinion/runtime/memory"
	"pinion/tests/assert"
	"pinion/tests/rawgrpc"
)

// TestHeaderBlocks_WhateverTheReads are.
func TestHeaderBlocks_WhateverTheReads(t *testing.T) {
	t.Parallel()
	frame := func(kind byte, payload int) []byte {
		return append([]byte{0, 0, byte(payload), kind, 0, 0, 0, 0, 1}, make([]byte, payload)...)
	}
	good := slices.Concat(make([]byte, prefaceSize), frame(4, 0), frame(1, 7), slices.Repeat(frame(continuation, 5),
		maxContinuations), frame(0, 200), slices.Repeat(frame(continuation, 0), maxContinuations))
	for size := 1; size < len(good); size += 1 + size/3 {
		h := headerBlocks{skip: prefaceSize}
		for part := range slices.Chunk(good, size) {
			err := h.read(part)
			assert.TrueNow(t, err == nil, "got %v in reads of %d bytes, want none", err, size)
		}
		assert.ErrorIs(t, fmt.Sprintf(" for one frame more after reads of %d bytes", size),
			h.read(frame(continuation, 1)), errContinuations)
	}
}

// TestConnections_EndlessHeaderBlock is cut, and a large one in many frames is not.
func TestConnections_EndlessHeaderBlock(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{Memory: memory.New(16 * mib)})
	hostile := rawgrpc.Dial(t, s.address)
	stream := hostile.Begin()
	for hostile.Continue(stream) == nil { // until the server closes
	}
	large := rawgrpc.Dial(t, s.address)
	call := large.Open(checkMethod, 200, hpack.HeaderField{Name: "x-large", Value: strings.Repeat("a", 100), Sensitive: true})
	large.Message(call, nil)
	got := large.Ended(call)
	assert.True(t, strings.HasPrefix(got, "0 "), "got %q for a call with large metadata, want OK", got)
}
