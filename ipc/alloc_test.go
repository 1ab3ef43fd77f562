//go:build !race

package ipc

import "testing"

// TestAlloc_SmallFramesCostNoMemory: a prediction's frames pass through here, so a small one allocates nothing.
func TestAlloc_SmallFramesCostNoMemory(t *testing.T) {
	a, b := ends(t)
	parts := [][]byte{[]byte(`{"input":`), []byte(`{"s":"world"}`), []byte(`}`)}
	size := 0
	handle := func(f *Frame) { size += len(f.Body) }
	got := testing.AllocsPerRun(1000, func() {
		if err := a.Send(KindPredict, 1, parts...); err != nil {
			t.Fatal(err)
		}
		if err := b.Recv(handle); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations for a frame sent and received, want none", got)
	}
	if size != 1001*23 {
		t.Errorf("%d bytes came, want %d", size, 1001*23)
	}
}

// TestAlloc_ManyFramesInOneReadCostNoMemory: those of others that the reader hands on on its way.
func TestAlloc_ManyFramesInOneReadCostNoMemory(t *testing.T) {
	a, b := ends(t)
	n := 0
	handle := func(*Frame) { n++ }
	body := []byte(`{"metrics":{"predict_time":0.000001},"output":null}`)
	got := testing.AllocsPerRun(200, func() {
		for i := range uint64(64) {
			if err := a.Queue(KindSucceeded, i, body); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Flush(); err != nil {
			t.Fatal(err)
		}
		for n = 0; n < 64; {
			if err := b.Recv(handle); err != nil {
				t.Fatal(err)
			}
		}
	})
	if got != 0 {
		t.Errorf("%v allocations for 64 frames, want none", got)
	}
}

// TestAlloc_LargerBodiesCostOneAllocation: the separate memory that Own then gives away without a copy.
func TestAlloc_LargerBodiesCostOneAllocation(t *testing.T) {
	a, b := ends(t)
	body := filled(ownedMin, 1)
	var kept []byte
	handle := func(f *Frame) { kept, _ = f.Own() }
	got := testing.AllocsPerRun(100, func() {
		if err := a.Send(KindSucceeded, 1, body); err != nil {
			t.Fatal(err)
		}
		for kept = nil; kept == nil; {
			if err := b.Recv(handle); err != nil {
				t.Fatal(err)
			}
		}
	})
	if got > 1 {
		t.Errorf("%v allocations, want one", got)
	}
}
