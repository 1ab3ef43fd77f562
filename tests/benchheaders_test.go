package tests

import (
	"regexp"
	"testing"
)

// TestBenchScriptsHaveHeaders: each says what it measures, how it is run, and what it needs.
func TestBenchScriptsHaveHeaders(t *testing.T) {
	t.Parallel()
	header := regexp.MustCompile(`^#!/usr/bin/env bash\n# Measures: .+\n(#   .+\n)*# Run: bench/(\S+\.sh).*\n(#   .+\n)*# Needs: .+\n`)
	files := tracked(t, "bench/*.sh")
	if len(files) < 10 {
		t.Fatalf("only %d scripts were found", len(files))
	}
	for path, text := range files {
		if m := header.FindStringSubmatch(text); m == nil || "bench/"+m[2] != path {
			t.Errorf("%s does not begin with the lines Measures, Run (with its own path) and Needs", path)
		}
	}
}
