package files

import (
	"bytes"
	"strings"
	"testing"
)

// TestMediaTypes holds that the table goes both ways.
func TestMediaTypes(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range mediaTypes() {
		extension := extensionFor(m.name)
		if seen[m.extension+m.name] || extension == "" {
			t.Errorf("%s %s", m.extension, m.name)
		}
		seen[m.extension+m.name] = true
		kind := typeOf("x"+strings.ToUpper(m.extension), bytes.NewReader(nil))
		if back := extensionFor(kind); back == "" || typeOf("x"+back, bytes.NewReader(nil)) != kind {
			t.Errorf("%s has type %s, which has extension %s", m.extension, kind, back)
		}
	}
	for name, want := range map[string]string{"a.jpeg": "image/jpeg", "a.tar.gz": "application/gzip", "a.Wav": "audio/wav", "a.xml": "application/xml", "a.": "text/plain; charset=utf-8"} {
		if got := typeOf(name, strings.NewReader("text")); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
