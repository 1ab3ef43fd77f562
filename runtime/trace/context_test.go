package trace

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	"pinion/tests/assert"
)

// TestContext_HexIsThatOfTheLibrary compares with encoding/hex, each byte in each place.
func TestContext_HexIsThatOfTheLibrary(t *testing.T) {
	for b := range 256 {
		for at := range 8 {
			var in [8]byte
			for i := range in {
				in[i] = byte(rand.Uint32())
			}
			in[at] = byte(b)
			assert.EqualNow(t, fmt.Sprintf("% x", in), string(appendHex(nil, in[:])), hex.EncodeToString(in[:]))
		}
	}
}

// TestTrace_SpanIDsDiffer: no two spans of a trace have the same id, and none has the id that names none.
func TestTrace_SpanIDsDiffer(t *testing.T) {
	of := (&Tracer{Sample: func(ID, Context) bool { return true }}).Root()
	of.ids.last.Store(1<<64 - 0x9e3779b97f4a7c15) // the next one is zero
	got := of.New().Span
	assert.True(t, got != (SpanID{}), "got the id %s, want one that names a span", got)
	seen := map[SpanID]bool{}
	for range 10_000 {
		id := of.New().Span
		assert.TrueNow(t, !seen[id], "got %s twice, want ids that differ", id)
		seen[id] = true
	}
	other := of.Another()
	for range 10_000 {
		id := other.New().Span
		assert.TrueNow(t, !seen[id], "got %s twice, want another prediction of the trace to have its own ids", id)
		seen[id] = true
	}
}
