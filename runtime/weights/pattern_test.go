package weights

import (
	"testing"

	"pinion/tests/assert"
)

// TestSource_TakesFilesByTheirPatterns: the files that include and exclude leave.
func TestSource_TakesFilesByTheirPatterns(t *testing.T) {
	for _, c := range []struct {
		include, exclude []string
		file             string
		want             bool
	}{
		{nil, nil, "a/b.bin", true},
		{[]string{"*.bin"}, nil, "a/b.bin", true},
		{[]string{"*.bin"}, nil, "a/b.txt", false},
		{[]string{"a"}, nil, "a/b.txt", true},
		{[]string{"a/"}, nil, "a/b/c.txt", true},
		{[]string{"a/*.bin"}, nil, "a/b.bin", true},
		{[]string{"a/*.bin"}, nil, "x/a/b.bin", false},
		{[]string{"**/b.bin"}, nil, "b.bin", true},
		{[]string{"**/b.bin"}, nil, "x/y/b.bin", true},
		{[]string{"a/**"}, nil, "a/x/y", true},
		{[]string{"a/**"}, nil, "b/x", false},
		{[]string{"a/**/c"}, nil, "a/c", true},
		{[]string{"./*.bin"}, nil, "a.bin", true},
		{nil, []string{"*.txt"}, "a.txt", false},
		{[]string{"*.bin"}, []string{"x*"}, "xa.bin", false},
		{[]string{"*.bin"}, []string{"old/**"}, "old/a.bin", false},
	} {
		got := (Source{Include: c.include, Exclude: c.exclude}).Includes(c.file)
		assert.True(t, got == c.want, "%s by %q without %q: got %v, want %v", c.file, c.include, c.exclude, got, c.want)
	}
}
