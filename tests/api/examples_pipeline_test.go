package api

import (
	"encoding/base64"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestExamples_PipelineRanksPassages by calls of two other models, of which one takes them in batches.
func TestExamples_PipelineRanksPassages(t *testing.T) {
	t.Parallel()
	dir := harness.Example(t, "pipeline")
	s := harness.Start(t, harness.Options{
		Dir: dir, Models: []string{"--config", filepath.Join(dir, "pinion.yaml")}, Python: harness.AnyPython(t).Path,
	})
	harness.WaitModels(t, s)
	passages := []string{
		"The cat sleeps on the mat.", "Trains leave at noon.", "Cats and mats are many.",
		"A cold rain falls.",
	}
	for range 36 {
		passages = append(passages, "Nothing of the kind.")
	}
	text := strings.Join(passages, "\n\n")
	got := s.Succeed(harness.Input{
		"question": "when do trains leave", "top": 1,
		"document": "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(text)),
	})
	assert.Equal(t, "the best passage", string(got.Prediction.Output), `["Trains leave at noon."]`)
	page := string(s.Do("GET", "/metrics", nil).Body)
	count := func(name string) int {
		m := regexp.MustCompile(`(?m)^` + name + `\{model="embed"\} (\d+)$`).FindStringSubmatch(page)
		assert.TrueNow(t, m != nil, "/metrics has no %s of embed", name)
		n, _ := strconv.Atoi(m[1])
		return n
	}
	calls, batches := len(passages)+1, count("pinion_batch_size_count")
	assert.True(t, batches < calls, "got %d batches of %d calls, want fewer", batches, calls)
	assert.Equal(t, "items of batches", count("pinion_batch_size_sum"), len(passages)+1)
}
