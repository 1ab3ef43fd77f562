package access

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// FuzzOwnOrigin: for any origin of a page, over http a name that can be registered is never taken for the server's own.
func FuzzOwnOrigin(f *testing.F) {
	f.Add("rebound", ":5000")
	f.Add("a.b", "")
	f.Add("[::1]", ":80")
	f.Fuzz(func(t *testing.T, label, port string) {
		host := label + ".example" + port
		if _, err := strconv.Atoi(strings.TrimPrefix(port, ":")); err != nil && port != "" || label == "" || label == "own" ||
			strings.ContainsAny(label, ":[]/") {
			t.Skip()
		}
		assert.False(t, ownOrigin("http://"+host, host, []string{"own.example"}),
			`%q can be registered, want ownOrigin("http://"+host, host, []string{"own.example"}) false`, host)
	})
}

// TestCORS_Patterns: which origins a pattern allows.
func TestCORS_Patterns(t *testing.T) {
	for _, c := range []struct {
		pattern, origin string
		want            bool
	}{
		{"https://*.example.com", "https://a.example.com", true},
		{"https://*.example.com", "https://a.b.example.com", true},
		{"https://*.example.com", "https://example.com", false},
		{"https://*.example.com", "https://.example.com", false},
		{"https://*.example.com", "http://a.example.com", false},
		{"https://*.example.com", "https://a.example.com:8443", false},
		{"https://*.example.com:8443", "https://a.example.com:8443", true},
		{"https://*.example.com", "https://evil.test/.example.com", false},
		{"https://*.example.com", "https://evil.test:1@a.example.com", false},
		{"https://*.example.com", "https://aexample.com", false},
		{"https://*.example.com", "https://a.example.com.evil.test", false},
		{"https://*.example.com:*", "https://a.example.com:8443", true},
		{"https://*.example.com:*", "https://a.example.com", true},
		{"http://localhost:*", "http://localhost:3000", true},
		{"http://localhost:*", "http://localhost", true},
		{"http://localhost:*", "http://localhost.evil.test:3000", false},
		{"http://localhost:*", "http://localhost:3000.evil.test", false},
		{"http://[::1]:*", "http://[::1]:3000", true},
		{"https://example.com", "https://example.com", true},
		{"null", "null", true},
		{"https://*.example.com", "null", false},
	} {
		got := newCORS([]string{c.pattern}, "").allows([]byte(c.origin))
		assert.Equal(t, fmt.Sprintf("%s and %s", c.pattern, c.origin), got, c.want)
	}
}
