package files

import (
	"strings"
	"testing"
)

// TestMediatype_TypeOf: the extension decides, else the first bytes.
func TestMediatype_TypeOf(t *testing.T) {
	for name, want := range map[string]string{
		"a.jpeg": "image/jpeg", "a.tar.gz": "application/gzip", "a.Wav": "audio/wav",
		"a.xml": "application/xml", "a.": "text/plain; charset=utf-8",
	} {
		if got := typeOf(name, strings.NewReader("text")); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
