package server

import (
	"slices"
	"strings"
	"testing"
)

// TestTokenfile_ParseTokens: comments and blanks count for nothing, and no error shows what may be a secret.
func TestTokenfile_ParseTokens(t *testing.T) {
	got, err := parseTokens("# of the first client\n\nabc-._~+/=09  \r\n\t#x\nsecond")
	if want := []string{"abc-._~+/=09", "second"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for text, want := range map[string]string{
		"": "no token", "# nothing\n\n": "no token", "good\nse cret": "line 2", "sécret": "line 1", "secret\x00": "line 1",
		"Bearer secret": "line 1",
	} {
		if got, err := parseTokens(text); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "cret") {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
}
