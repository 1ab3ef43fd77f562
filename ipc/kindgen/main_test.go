package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestGenerate_FilesAreUpToDate: C, Python and Go have the kinds of ipc/kind.go and the flags of ipc/frame.go.
func TestGenerate_FilesAreUpToDate(t *testing.T) {
	files := assert.Must(generate("../.."))(t)
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join("../..", name)); err != nil || string(got) != want {
			t.Errorf("%s is out of date: run 'go generate ./ipc': got %v,\n%s, want\n%s", name, err, got, want)
		}
	}
}

func TestRead_KindsAndFlags(t *testing.T) {
	kinds, flags, err := read("..")
	assert.NoError(t, err)
	for _, c := range []struct {
		list []number
		want number
		word string
	}{
		{kinds, number{"LogPipesEnd", 27}, "LOG_PIPES_END"},
		{kinds, number{"CUDA", 36}, "CUDA"},
		{flags, number{"BatchItem", 8}, "BATCH_ITEM"},
	} {
		assert.True(t, slices.Contains(c.list, c.want) && c.want.upper() == c.word, "got %v, want %v, named %s", c.list, c.want, c.word)
	}
}

func TestRead_TwoOfOneValue(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kind.go":  "package ipc\n\ntype Kind uint8\n\nconst (\n\tKindA Kind = 1\n\tKindB Kind = 1\n)\n",
		"frame.go": "package ipc\n\nconst FlagA = 1 << 0\n",
	} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	_, _, err := read(dir)
	assert.True(t, err != nil && strings.Contains(err.Error(), "A and B are both 1"), "got %v, want that A and B are both 1", err)
}
