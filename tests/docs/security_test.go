package docs

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// codePaths are the paths in a table's column, in order.
var codePaths = regexp.MustCompile("`(/[^` ]*|AIP_HEALTH_ROUTE)`")

// documentedPaths are the paths in the first column of security.md's tables between two texts.
func documentedPaths(t *testing.T, from, to string) (paths []string) {
	t.Helper()
	_, rest, found := strings.Cut(harness.ReadFile(t, "../docs/how-to/security.md"), from)
	section, _, ended := strings.Cut(rest, to)
	assert.TrueNow(t, found && ended,
		"security.md lacks %q or %q: got found %t, ended %t, want found true and ended true", from, to, found, ended)
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, match := range codePaths.FindAllStringSubmatch(cells[1], -1) {
				paths = append(paths, strings.Replace(match[1], "AIP_HEALTH_ROUTE", "/aip-health", 1))
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// getPaths are the paths of a server's GET routes, and of pages that its document does not have.
func getPaths(t *testing.T, s *harness.Server, headers ...string) []string {
	t.Helper()
	var document struct {
		Paths map[string]map[string]any
	}
	harness.Decode(t, s.Do(http.MethodGet, "/openapi.json", nil, headers...), &document)
	paths := []string{"/dashboard", "/dashboard/events", "/dashboard/prediction", "/dashboard/search"}
	for path, methods := range document.Paths {
		if methods["get"] != nil {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// TestDocumentedPaths_OfSecurity: what a page at a rebound name can read, and what needs no token, is what security.md
// says.
func TestDocumentedPaths_OfSecurity(t *testing.T) {
	t.Parallel()
	dir, models := harness.ModelFolders(t,
		map[string]harness.Python{"a": harness.OldestPython(t), "b": harness.OldestPython(t)})
	harness.WriteFile(t, filepath.Join(dir, "a", "cog.yaml"), "run: run.py:Runner\ntrain: run.py:train\n")
	harness.WriteFile(t, filepath.Join(dir, "a", "run.py"),
		harness.SeveralModel+"\ndef train(text: str = \"\") -> str:\n    return text\n")
	const token = "a-token-of-more-than-sixteen"
	tokens := filepath.Join(dir, "tokens.txt")
	harness.WriteFile(t, tokens, token+"\n")
	for _, c := range []struct {
		what, from, to string
		args           []string
		refused        int
		headers        []string
	}{
		{
			"a rebinding page reads", "therefore *read* these paths", "With `--auth-token-file` it reads", nil,
			http.StatusForbidden, nil,
		},
		{
			"no token is wanted for", "| request | result |", "| pages of `--auth-public`",
			[]string{"--auth-token-file", tokens},
			http.StatusUnauthorized,
			[]string{"Authorization", "Bearer " + token},
		},
	} {
		s := harness.Start(t, harness.Options{
			Dir: dir, Models: models, Args: c.args,
			Env: []string{"AIP_HEALTH_ROUTE=/aip-health", "AIP_PREDICT_ROUTE=/aip-predict"},
		})
		assert.Eventually(t, "the server is ready",
			func() bool { return s.Do(http.MethodGet, "/readyz", nil).Code == http.StatusOK })
		var got []string
		for _, path := range getPaths(t, s, c.headers...) {
			asked := strings.NewReplacer("{name}", "a", "{model}", "a", "{version}", "1", "{prediction_id}", "p",
				"{training_id}", "p", "{number}", "0").Replace(path)
			answer := s.Raw(fmt.Sprintf(
				"GET %s HTTP/1.1\r\nHost: rebound.example:5000\r\nReferer: http://rebound.example:5000/\r\n\r\n", asked), 1)[0]
			if answer.Code != c.refused {
				got = append(got, path)
			}
		}
		assert.EqualSlices(t, c.what, got, documentedPaths(t, c.from, c.to))
	}
}
