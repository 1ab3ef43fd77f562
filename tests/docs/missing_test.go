package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// gap is a sentence that says what is missing, and the text of a file that shows that it still is.
type gap struct{ document, phrase, evidence, text string }

// notYet are the phrases of documents that say "not yet" of something. As long as one is true, the file in evidence has
// the text. A phrase without evidence describes a state of a server, and not what Pinion lacks.
var notYet = []gap{
	{"../README.md", "GPUs and older drivers have not", "../docs/explanation/cuda.md", "one H100 (80 GB) in a virtual machine"},
	{"../README.md", "not yet on real nodes", "../docs/how-to/scale-out.md", "since the nodes are not real"},
	{
		"../docs/explanation/cuda.md", "is not ready for CUDA yet", "../pyembed/cuda/meanings.go",
		"is not ready for CUDA yet",
	},
	{"../docs/explanation/decisions.md", "not yet by its successor", "../deploy/site/requirements.txt", "mkdocs-material"},
	{
		"../docs/how-to/troubleshooting.md", "Setup has not finished yet", "../runtime/service/health.go",
		"Setup has not finished yet",
	},
	{"../docs/reference/http.md", "a worker cannot be started yet", "", ""},
	{"../docs/reference/jobs.md", "no server has got yet", "", ""},
	{"../docs/reference/webhooks.md", "not delivered yet", "", ""},
}

// TestMissing_WhatDocumentsSayIsNotYet holds that a document says "not yet" only of what is listed, and that each line
// of README's list is: such a sentence is the first to be forgotten when what it lacks is built.
func TestMissing_WhatDocumentsSayIsNotYet(t *testing.T) {
	t.Parallel()
	documents := contents(t, "../README.md", "../docs/*.md", "../docs/*/*.md")
	for _, line := range missingOfReadme(t, documents["../README.md"]) {
		assert.True(t, isListed(line),
			"../README.md is missing %q: got no entry in this file, want one with its evidence", line)
	}
	for _, known := range notYet {
		text := documents[known.document]
		assert.Contains(t, known.document, text, known.phrase)
		documents[known.document] = strings.ReplaceAll(text, known.phrase, "")
		assert.True(t, known.evidence == "" || strings.Contains(harness.ReadFile(t, known.evidence), known.text),
			"%s says %q: got no %q in %s, so it may be built by now", known.document, known.phrase, known.text, known.evidence)
	}
	sentence := regexp.MustCompile(`(?i)[^.|\n]*\b(?:not|no|cannot|never|nothing)\b[^.|\n]*\byet\b[^.|\n]*`)
	for path, text := range documents {
		for _, got := range sentence.FindAllString(text, -1) {
			t.Errorf("%s: got %q, want an entry with its evidence in this file", path, strings.TrimSpace(got))
		}
	}
}

// missingOfReadme returns the lines of README's list of what is missing.
func missingOfReadme(t *testing.T, readme string) []string {
	t.Helper()
	_, list, _ := strings.Cut(readme, "\n## What is missing yet\n")
	lines := strings.Split(list, "\n* ")[1:]
	assert.True(t, len(lines) != 0, "../README.md: got no list of what is missing, want one, or none of this test")
	return lines
}

func isListed(line string) bool {
	return slices.ContainsFunc(notYet, func(known gap) bool {
		return known.document == "../README.md" && strings.Contains(line, known.phrase)
	})
}
