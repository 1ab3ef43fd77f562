package version

import (
	"testing"

	"pinion/tests/assert"
)

// TestDocsPage_IsAtTheSite where that is known, and else in the repository.
func TestDocsPage_IsAtTheSite(t *testing.T) {
	t.Cleanup(func() { Docs = "" })
	for site, want := range map[string]string{
		"":                             "docs/how-to/workers.md",
		"https://docs.example/latest":  "https://docs.example/latest/how-to/workers/",
		"https://docs.example/latest/": "https://docs.example/latest/how-to/workers/",
	} {
		Docs = site
		assert.True(t, DocsPage("how-to/workers") == want, "site %q: got %s, want %s", site, DocsPage("how-to/workers"), want)
	}
}
