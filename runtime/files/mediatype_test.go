package files

import (
	"bytes"
	"os"
	"regexp"
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

// TestMediaTypesAreTheWorkers holds that a file has the same type in an answer, where the worker's table says it, and
// where it is sent to.
func TestMediaTypesAreTheWorkers(t *testing.T) {
	source, err := os.ReadFile("../../pyembed/sdk/cog/_worker/values/mime.py")
	if err != nil {
		t.Fatal(err)
	}
	theirs := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^    "(\w+)": "(.+)",$`).FindAllStringSubmatch(string(source), -1) {
		theirs["."+m[1]] = m[2]
	}
	if len(theirs) < 50 {
		t.Fatalf("found %d types there", len(theirs))
	}
	for _, m := range mediaTypes() {
		if want := typeOf("x"+m.extension, bytes.NewReader(nil)); theirs[m.extension] != want && m.extension != ".bin" {
			t.Errorf("%s: %s here, %q there", m.extension, want, theirs[m.extension])
		}
	}
}
