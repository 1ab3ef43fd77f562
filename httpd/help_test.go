package httpd

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"pinion/httpd/access"
	"pinion/tests/assert"
)

// TestHelp_RefusalsLeadToDocuments where their address is known, and say what to do also where it is not.
func TestHelp_RefusalsLeadToDocuments(t *testing.T) {
	var tokens access.Tokens
	tokens.Set([]string{"a-token-of-this-server"})
	for _, c := range []struct {
		name, path string
		header     [2]string
		tokens     *access.Tokens
		code       int
		says, page string
	}{
		{"stream", "/predictions", [2]string{"Accept", "text/event-stream"}, nil, 406, "ask without Accept", "reference/http"},
		{"training", "/trainings", [2]string{"Accept", "text/event-stream"}, nil, 406, "GET /trainings/{id}", "reference/http"},
		{"foreign", "/predictions", [2]string{"Origin", "http://a.example"}, nil, 403, "--cors-origin", "how-to/security"},
		{"token", "/predictions", [2]string{"X", "y"}, &tokens, 401, "Authorization: Bearer", "how-to/security"},
	} {
		for _, site := range []string{"", "https://docs.example/"} {
			o := Options{Tokens: c.tokens}
			if site != "" {
				o.Help = func(page string) string { return site + page }
			}
			f := newFake()
			f.training, f.plain = true, true
			s := serve(t, f, o)
			r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.addr+c.path, strings.NewReader("{}"))
			assert.NoError(t, err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set(c.header[0], c.header[1])
			answer := assert.Must(http.DefaultClient.Do(r))(t)
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			assert.True(t, err == nil && answer.StatusCode == c.code && strings.Contains(string(body), c.says),
				"%s: got %d, %s (%v), want %d with %q", c.name, answer.StatusCode, body, err, c.code, c.says)
			want := site != ""
			got := strings.Contains(string(body), ". See https://docs.example/"+c.page)
			assert.True(t, got == want, "%s, documents at %q: got a link %t, want %t: %s", c.name, site, got, want, body)
		}
	}
}
