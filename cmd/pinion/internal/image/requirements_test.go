package image

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pinion/cmd/pinion/internal/model"
	"pinion/tests/assert"
)

// TestRequirements_WorkGrowsWithTheFile: what is copied while a file is read is a few times its size, also where all its
// lines are one, or each includes the file again.
func TestRequirements_WorkGrowsWithTheFile(t *testing.T) {
	for name, line := range map[string]string{
		"continued lines": "a line that goes on \\\n", "includes of itself": "-r requirements.txt\n",
		"includes of a file that is not there": "-r there-is-none\n", "comments": "# no requirement\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			text := strings.Repeat(line, 8000)
			assert.NoError(t, os.WriteFile(filepath.Join(dir, "requirements.txt"), []byte(text), 0o600))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			Requirements(dir, &model.Build{Requirements: model.Text{Value: "requirements.txt"}})
			runtime.ReadMemStats(&after)
			took := (after.TotalAlloc - before.TotalAlloc) / uint64(len(text))
			assert.True(t, took < 200, "it took %d times the file's size, want less than 200", took)
		})
	}
}
