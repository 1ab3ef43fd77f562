package files

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestMediatype_TypeOf: the extension decides, else the first bytes.
func TestMediatype_TypeOf(t *testing.T) {
	for name, want := range map[string]string{
		"a.jpeg": "image/jpeg", "a.tar.gz": "application/gzip", "a.Wav": "audio/wav",
		"a.xml": "application/xml", "a.": "text/plain; charset=utf-8",
	} {
		assert.Equal(t, name, typeOf(name, strings.NewReader("text")), want)
	}
}

// TestMediaTypes_BothWays checks that the table goes both ways.
func TestMediaTypes_BothWays(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range mediaTypes() {
		extension := TypeExtension(m.name)
		assert.True(t, !seen[m.extension+m.name] && extension != "",
			"%s %s, want seen[m.extension+m.name] false and extension non-empty", m.extension, m.name)
		seen[m.extension+m.name] = true
		kind := MediaType(strings.ToUpper(m.extension))
		if back := TypeExtension(kind); back == "" || MediaType(back) != kind {
			t.Errorf("%s has type %s, which has extension %s, want back non-empty and the type %q", m.extension, kind, back, kind)
		}
	}
}

// TestMediaTypes_AreWorkers checks that a file has the same type in an answer, where the worker's table says it, and
// where it is sent to.
func TestMediaTypes_AreWorkers(t *testing.T) {
	source := assert.Must(os.ReadFile("../../pyembed/sdk/cog/_worker/values/mime.py"))(t)
	theirs := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^    "(\w+)": "(.+)",$`).FindAllStringSubmatch(string(source), -1) {
		theirs["."+m[1]] = m[2]
	}
	assert.TrueNow(t, len(theirs) >= 50, "found %d types there, want at least 50", len(theirs))
	for _, m := range mediaTypes() {
		if want := MediaType(m.extension); theirs[m.extension] != want && m.extension != ".bin" {
			t.Errorf(`%s: %s here, %q there, want ".bin"`, m.extension, want, theirs[m.extension])
		}
	}
}
