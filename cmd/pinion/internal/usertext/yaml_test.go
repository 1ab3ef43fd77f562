package usertext

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestParse_HostileFilesAreBounded: files that took gigabytes or minutes end in an error, or in a small tree.
func TestParse_HostileFilesAreBounded(t *testing.T) {
	var aliases, keys strings.Builder
	aliases.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 9 {
		fmt.Fprintf(&aliases, "a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	for i := range 29_000 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	for _, c := range []struct{ name, text, want string }{
		{"aliases of aliases", aliases.String(), "with what aliases repeat"},
		{"an anchor that holds itself", "a: &a [*a]\n", "nested more than 50 deep"},
		{"a mapping that merges itself", "a: &a\n  <<: *a\n", "nested more than 50 deep"},
		{"100 kB of brackets", strings.Repeat("[", 100_000), "too large"},
		{"brackets", strings.Repeat("[", 29_000), "depth"},
		{"lists in a line", strings.Repeat("[]", 500_000), "too large"},
		{"pairs in a line", "{" + strings.Repeat("a: b, ", 29_000) + "}", ""},
		{"anchors", strings.Repeat("- &a x\n", 14_000), ""},
		{"brackets that end", strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), "nested more than 50 deep"},
		{"braces", strings.Repeat("{", 29_000), "depth"},
		{"dashes", strings.Repeat("- ", 100_000), "depth"},
		{"keys without values", strings.Repeat("? ", 29_000), "depth"},
		{"indents", indents(1000), "nested more than 50 deep"},
		{"a megabyte and more", strings.Repeat("#", 1<<20+1), "too large"},
		{"commas", "[" + strings.Repeat("a,", 500_000) + "]", "too large"},
		{"lines", strings.Repeat("#\n", 500_000), "too large"},
		{"Latin-1", "a: 1\nb: gr\xfcn\n", "line 2: the file is not UTF-8 text from here on"},
		{"tags", strings.Repeat("! ", 29_000), "did not find"},
		{"keys", keys.String(), ""},
		{"documents", strings.Repeat("---\n", 29_000), ""},
		{"documents with values", strings.Repeat("--- a\n", 29_000), ""},
		{"a long word", "a: " + strings.Repeat("x", 1<<20-3), ""},
		{"escapes", `a: "` + strings.Repeat(`\n`, 500_000) + `"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			documents, err := ParseYAML([]byte(c.text))
			runtime.ReadMemStats(&after)
			got := fmt.Sprint(err)
			assert.True(t, (c.want == "" || strings.Contains(got, c.want)) && (c.want != "" || err == nil) && len(got) <= 1000,
				"got %.300s, want %q", got, c.want)
			assert.True(t, len(documents) <= 2, "got %d documents, want 2 at most", len(documents))
			const most = 200 << 20 // in all, of which less is held at once
			took := after.TotalAlloc - before.TotalAlloc
			assert.True(t, took <= most, "it took %d MiB, want less than %d", took>>20, most>>20)
		})
	}
}

// TestParse_MistakesHaveTheirLine: the parser gives up later than where a quote, a bracket or a key is not finished.
func TestParse_MistakesHaveTheirLine(t *testing.T) {
	for _, c := range []struct {
		text    string
		line    int
		noticed string
	}{
		{"a: 1\nb: \"x\nc: 2\nd: 3\n", 2, "end of stream"},
		{"a: 1\nb: 'x\nc: 'y'\nd: 3\n", 2, "noticed in line 3"},
		{"a: 1\nb: \"x\nc: 1\nd: \"y\"\ne: 2\n", 2, "noticed in line 4"},
		{"a:\n  - \"x\n  - \"y\"\nb: 1\n", 2, "noticed in line 3"},
		{"a: x\n---\nb: \"\n", 3, "end of stream"},
		{"a: 1\nb: [x, y\nc: 2\nd: 3\n", 2, "noticed in line 3"},
		{"a: 1\nb: {x: 1,\nc: 2\nd: 3\n", 2, "noticed in line 4"},
		{"a:\n  - [1, 2\n  - 3\nb: 1\n", 2, "noticed in line 4"},
		{"a: [1, 2\n", 1, "expected ',' or ']'"},
		{"{a: 1\n", 1, "expected ',' or '}'"},
		{"a: [\n  1,\n  \"\\q\"\n]\n", 3, "unknown escape"},
		{"a: 1\nb 2\nc: 3\n", 2, "noticed in line 3"},
		{"a: 1\nbuild\n  gpu: true\nrun: x\n", 2, "noticed in line 3"},
		{"a:\n  b: 1\n  c 2\n  d: 3\ne: 1\n", 3, "noticed in line 4"},
		{"a 1\nb: 2\n", 1, "noticed in line 2"},
		{"a: 1\n  b: 2\nc: 3\n", 2, "begins in line 1"},
		{"a:\n    b: 1\n  c: 1\nd: 1\n", 3, "begins in line 1"},
		{" a: 1\nb: 2\n", 2, "begins in line 1"},
		{"a:\n  b: 1\n  - x\n", 3, "begins in line 2"},
		{"a: 1\nb:\n\tc: 2\n", 3, "a tab indents the line"},
		{"a: b: c\nd: 1\n", 1, "mapping values"},
		{"a: 1\nb: \"x\" y\n", 2, "begins in line 1"},
	} {
		_, err := ParseYAML([]byte(c.text))
		var fault *SyntaxError
		assert.True(t, errors.As(err, &fault) && fault.Line == c.line && strings.Contains(fault.What, c.noticed),
			"%q: got %v, want line %d and %q", c.text, err, c.line, c.noticed)
	}
}

func indents(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return text.String()
}

// TestParse_KindsAreThoseOfCog: Cog reads its file with this library too.
func TestParse_KindsAreThoseOfCog(t *testing.T) {
	documents := assert.Must(ParseYAML([]byte(
		"a: 3.10\nb: 4e0\nc: 1_0\nd: 0x4\ne: yes\nf: true\ng: ~\nh: 2024-01-02\ni: '3'\nj: !own x\nk: [1]\nl: |\n  x\n  y\n")))(t)
	assert.EqualNow(t, "number of documents", len(documents), 1)
	root := documents[0]
	for key, want := range map[string]Node{
		"a": {Kind: Number, Line: 1, Text: "3.10", Number: 3.1}, "b": {Kind: Number, Line: 2, Text: "4e0", Number: 4},
		"c": {Kind: Number, Line: 3, Text: "1_0", Number: 10}, "d": {Kind: Number, Line: 4, Text: "0x4", Number: 4},
		"e": {Kind: Text, Line: 5, Text: "yes"}, "f": {Kind: Bool, Line: 6, Text: "true"}, "g": {Kind: Null, Line: 7},
		"h": {Kind: Text, Line: 8, Text: "2024-01-02"}, "i": {Kind: Text, Line: 9, Text: "3"},
		"j": {Kind: Other, Line: 10, Text: "x"},
		"k": {Kind: List, Line: 11}, "l": {Kind: Text, Line: 12, Text: "x\ny\n"},
	} {
		got := *root.Get(key)
		assert.True(t, got.Kind == want.Kind && got.Line == want.Line && got.Text == want.Text && got.Number == want.Number,
			"%s: got %+v, want %+v", key, got, want)
	}
}

// TestParse_MergedKeysYield: a key of the mapping counts before those that << brings, wherever it stands.
func TestParse_MergedKeysYield(t *testing.T) {
	documents, err := ParseYAML([]byte("x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  <<: [*x, *y]\n  a: 3\n  a: 4\n"))
	assert.NoError(t, err)
	assert.EqualNow(t, "number of documents", len(documents), 1)
	z := documents[0].Get("z")
	for key, want := range map[string]string{"a": "3", "b": "1", "c": "2"} {
		assert.Equal(t, key, z.Get(key).Text, want)
	}
	again := z.Entries[1]
	assert.True(t, again.Again && again.First == 5, "the second a: got %+v, want that it is given again after line 5", again)
}
