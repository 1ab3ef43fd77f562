//go:build !race

package ipc

import (
	"testing"

	"pinion/tests/assert"
)

// TestAlloc_SmallFramesCostNoMemory: a prediction's frames pass through here, so a small one allocates nothing.
func TestAlloc_SmallFramesCostNoMemory(t *testing.T) {
	a, b := ends(t)
	parts := [][]byte{[]byte(`{"input":`), []byte(`{"s":"world"}`), []byte(`}`)}
	size := 0
	handle := func(f *Frame) { size += len(f.Body) }
	got := testing.AllocsPerRun(1000, func() {
		assert.NoError(t, a.Send(KindPredict, 1, parts...))
		assert.NoError(t, b.Recv(handle))
	})
	assert.Equal(t, "allocations for a frame sent and received", got, 0)
	assert.Equal(t, "bytes", size, 1001*23)
}

// TestAlloc_ManyFramesInOneReadCostNoMemory: those of others that the reader hands on on its way.
func TestAlloc_ManyFramesInOneReadCostNoMemory(t *testing.T) {
	a, b := ends(t)
	n := 0
	handle := func(*Frame) { n++ }
	body := []byte(`{"metrics":{"predict_time":0.000001},"output":null}`)
	got := testing.AllocsPerRun(200, func() {
		for i := range uint64(64) {
			assert.NoError(t, a.Queue(KindSucceeded, i, body))
		}
		assert.NoError(t, a.Flush())
		for n = 0; n < 64; {
			assert.NoError(t, b.Recv(handle))
		}
	})
	assert.Equal(t, "allocations for 64 frames", got, 0)
}

// TestAlloc_LargerBodiesCostOneAllocation: the separate memory that Own then gives away without a copy.
func TestAlloc_LargerBodiesCostOneAllocation(t *testing.T) {
	a, b := ends(t)
	body := filled(ownedMin, 1)
	var kept []byte
	handle := func(f *Frame) { kept, _ = f.Own() }
	got := testing.AllocsPerRun(100, func() {
		assert.NoError(t, a.Send(KindSucceeded, 1, body))
		for kept = nil; kept == nil; {
			assert.NoError(t, b.Recv(handle))
		}
	})
	assert.True(t, got <= 1, "%v allocations, want one", got)
}
