package api

import (
	"debug/elf"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestSize_LinkerLeavesOutUnusedMethods: a program that can run text/template keeps every exported method of every
// type, for a template may name it. That is a quarter of the binary.
func TestSize_LinkerLeavesOutUnusedMethods(t *testing.T) {
	t.Parallel()
	file := assert.Must(elf.Open(harness.Binary(t)))(t)
	defer file.Close()
	symbols := assert.Must(file.Symbols())(t)
	found := false
	for _, s := range symbols {
		found = found || s.Name == "main.main"
		assert.True(t, s.Name != "text/template.(*Template).Execute",
			"the binary holds text/template's Execute, want it without: see -ldflags=-dumpdep for who calls it")
	}
	assert.True(t, found, "main.main is not among the symbols, so that nothing was tested")
}
