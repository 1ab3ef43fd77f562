package api

import (
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestCogPackage_MayBeInstalled: a model gets our cog, and so do its children, in any environment.
func TestCogPackage_MayBeInstalled(t *testing.T) {
	t.Parallel()
	python := modelsPython(t)
	s := harness.Ready(t, harness.Options{Model: "beside.py:Predictor", Python: python})
	var said []string
	a := s.Succeed(harness.Input{"text": "hello"})
	a.Decode(t, &said)
	assert.TrueNow(t, len(said) == 4 && said[0] == "0.23.1" && said[1] == said[2] && said[3] == "hello",
		"got %s, want version 0.23.1 twice, and hello", a)
	assert.False(t, strings.Contains(said[1], "site-packages"), `cog is %s, want no "site-packages" in it`, said[1])
}
