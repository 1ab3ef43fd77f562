package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestGuides_ShowTheCodeOfExamples: what the pages that go through an example show of it is in its files.
func TestGuides_ShowTheCodeOfExamples(t *testing.T) {
	t.Parallel()
	for document, c := range map[string]struct {
		example string
		least   int
	}{"language-model.md": {"chat", 4}, "diffusion.md": {"diffusion", 5}} {
		files := assert.Must(filepath.Glob("../examples/" + c.example + "/*.*"))(t)
		var code strings.Builder
		for _, file := range files {
			code.WriteString(harness.ReadFile(t, file))
		}
		text, _, _ := strings.Cut(harness.ReadFile(t, "../docs/how-to/"+document), "## With diffusers")
		// A part of a class is indented further than a command.
		shown := regexp.MustCompile(`(?m)^    (?:    |weights:).*\n(?:    .*\n)*`).FindAllString(text, -1)
		assert.True(t, len(shown) >= c.least, "%s shows %d pieces of code, want at least %d", document, len(shown), c.least)
		for _, piece := range shown {
			if piece = regexp.MustCompile(`(?m)^    `).ReplaceAllString(piece, ""); !strings.Contains(code.String(), piece) {
				t.Errorf("%s shows code, want it from examples/%s:\n%s", document, c.example, piece)
			}
		}
	}
}
