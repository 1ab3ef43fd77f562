package api

import (
	"testing"

	"pinion/tests/conformance"
	"pinion/tests/harness"
)

// TestConformance runs the scripts of tests/conformance: one for each sentence of the HTTP contract.
func TestConformance(t *testing.T) {
	t.Parallel()
	harness.AnyPython(t)
	conformance.Run(t, "conformance")
}
