package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// sourceText is the text of all sources that have messages for users, with string literals joined and unescaped.
func sourceText(t *testing.T) string {
	t.Helper()
	var source strings.Builder
	for _, root := range []string{"../cmd", "../runtime", "../httpd", "../ipc", "../pyembed"} {
		assert.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") ||
				strings.Contains(path, "/tests/") {
				return err
			}
			switch filepath.Ext(path) {
			case ".go", ".py", ".c", ".h":
				text, err := os.ReadFile(path)
				source.Write(text)
				return err
			}
			return nil
		}))
	}
	joined := regexp.MustCompile(`"\s*\+?\s*\n\s*f?"`).ReplaceAllString(source.String(), "")
	return strings.ReplaceAll(joined, `\"`, `"`)
}

// TestMessages_OfTroubleshootingPage are messages that the sources have, except for what … stands for.
func TestMessages_OfTroubleshootingPage(t *testing.T) {
	t.Parallel()
	source, found := sourceText(t), 0
	for _, row := range readPage(t, "../docs/how-to/troubleshooting.md").rows {
		found++
		for part := range strings.SplitSeq(strings.Trim(row.name, "`"), "…") {
			assert.Contains(t, row.name+": no source", source, strings.TrimSpace(part))
		}
	}
	assert.True(t, found >= 40, "the page has only %d messages, want at least 40", found)
}
