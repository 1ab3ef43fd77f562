package api

import (
	"testing"

	"pinion/tests/conformance"
	"pinion/tests/harness"
)

// TestConformance_Scripts runs the scripts of tests/conformance: one for each sentence of the HTTP contract.
func TestConformance_Scripts(t *testing.T) {
	t.Parallel()
	harness.AnyPython(t)
	conformance.Run(t, "conformance")
}
