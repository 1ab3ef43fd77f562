package tests

import (
	"testing"

	"pinion/tests/conformance"
)

// TestConformance runs the scripts of tests/conformance: one for each sentence of the HTTP contract.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, "conformance")
}
