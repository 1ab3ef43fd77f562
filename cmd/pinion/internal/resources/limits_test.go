package resources

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
)

func TestLimits_BusyPolling(t *testing.T) {
	for _, c := range []struct {
		workers, cores int
		front, each    bool
	}{
		{1, 1, false, false},
		{1, 2, true, true},
		{2, 2, true, false},
		{2, 3, true, true},
		{8, 4, true, false},
	} {
		got := BusyPolling(true, c.workers, c.cores)
		if got.Front != c.front || got.Workers != c.each {
			t.Errorf("%d workers, %d cores: %v for the front, %v for workers, want %t and %t", c.workers, c.cores, got.Front,
				got.Workers, c.front, c.each)
		}
	}
	if got := BusyPolling(false, 1, 8); got.Front || got.Workers || got.Pressure != nil {
		t.Errorf("off: %+v, want Front false, Workers false and Pressure nil", got)
	}
}

func TestConnections_LeaveDescriptors(t *testing.T) {
	for descriptors, want := range map[uint64]int{
		64: 32, 256: 64, 1024: 512, 4096: 2816, 20000: 14744,
		1 << 20: maxConnections, 1 << 63: maxConnections,
	} {
		assert.Equal(t, fmt.Sprintf("%d descriptors: connections", descriptors), connectionsFor(descriptors), want)
	}
}
