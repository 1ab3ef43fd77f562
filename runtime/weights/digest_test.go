package weights

import (
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestCheckPath refuses what leaves a folder.
func TestCheckPath(t *testing.T) {
	for _, bad := range []string{"", ".", "..", "../a", "a/../b", "/a", "a//b", "a/", "./a", "a\nb", "a\x00b"} {
		assert.True(t, checkPath(bad) != nil, "%q is allowed", bad)
	}
	for _, good := range []string{"a", "a/b", "..a", "a b", "ä/🙂.bin"} {
		assert.NoError(t, checkPath(good))
	}
}

// TestSetDigest: as sha256sum prints the files, sorted, without a line break at the end.
func TestSetDigest(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	got := SetDigest([]File{{Path: "x", Digest: digestPrefix + b}, {Path: "y", Digest: digestPrefix + a}})
	assert.Equal(t, "digest", got, digestPrefix+digest([]byte(a+"  y\n"+b+"  x")))
}
