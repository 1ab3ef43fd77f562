//go:build pinion_test

package pyembed

import (
	"encoding/json"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// FuzzJSONBridge compares the bridge with Python's json.loads, made stricter
// by what codec_json.h says, and sees that what was read is written as json.dumps
// writes it and reads back as itself. Bound it by a count (-fuzztime=500000x):
// at the end of a duration Go before 1.27 may report its own deadline as a
// failure (go.dev/issue/75804). One interpreter a process: -parallel=1 is kind.
func FuzzJSONBridge(f *testing.F) {
	for _, seed := range []string{
		`null`, `true`, `false`, `0`, `-0`, `-0.0`, `1.5e300`, `1e400`, `12345678901234567890123`, `0.1e-7`,
		`""`, `"\u00e4\ud83d\ude00\n\/"`, `"\ud800"`, "\"\xc3\xa4\xf0\x9f\x98\x80\"", "\"\xed\xa0\x80\"",
		`[]`, `{}`, `[1, 2.5, "x", null]`, `{"a": {"a": [1]}, "b": 2, "a": 3}`, ` [ ] `, `[1,]`, `{"a":}`,
		`NaN`, `-Infinity`, "\xef\xbb\xbf1", `1 2`, `01`, `1.`, `.5`, `+1`, `[}`, "\"\x01\"", "\"\x00\"",
		strings.Repeat("[", 501) + strings.Repeat("]", 501),
		`"` + strings.Repeat("a", 31) + `\"` + strings.Repeat("b", 17) + `"`,
	} {
		f.Add([]byte(seed))
	}
	b := bridge(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		// The fuzzer sees no branch of C. Those of Go's own scanner lead it
		// through the grammar instead; what it answers does not matter.
		_ = json.Valid(text)
		complaint := assert.Must(b.call("fuzz", text))(t)
		if len(complaint) > 0 {
			t.Fatalf("%q: %s, want none", text, complaint)
		}
	})
}
