package weights

import (
	"slices"
	"strings"
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

// TestSource_PatternsMatchFoldersAbove: a pattern is for a file if it is for its path or for that of a folder above it. All short
// patterns are tried with all short paths.
func TestSource_PatternsMatchFoldersAbove(t *testing.T) {
	t.Parallel()
	for _, pattern := range joined([]string{"a", "*", "**"}, 3) {
		words := strings.Split(pattern, "/")
		for _, file := range joined([]string{"a", "b"}, 4) {
			parts := strings.Split(file, "/")
			is := make([]bool, len(parts)) // by folders, and then the file
			for i := range parts {
				is[i] = matchesParts(words, parts[:i+1])
			}
			anchored := "/" + pattern
			assert.Equal(t, anchored+" of "+file, matchesPattern(anchored, file), slices.Contains(is, true))
			anchored += "/"
			assert.Equal(t, anchored+" of "+file, matchesPattern(anchored, file), slices.Contains(is[:len(is)-1], true))
		}
	}
}

// joined returns all paths of up to most of the words.
func joined(words []string, most int) (paths []string) {
	last := []string{""}
	for range most {
		var next []string
		for _, path := range last {
			for _, word := range words {
				next = append(next, strings.TrimPrefix(path+"/"+word, "/"))
			}
		}
		paths, last = append(paths, next...), next
	}
	return paths
}
