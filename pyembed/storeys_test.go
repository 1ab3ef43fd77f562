package pyembed

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// storeys are the prefixes of the C files, the lowest first. A storey knows none above it: what it must tell those goes by
// a function that it is given.
var storeys = []string{
	"base",        // memory, and the API of Python
	"codec",       // JSON to Python's objects and back
	"channel",     // frames, sockets and the page that the front shares
	"process",     // forks, children, pipes, threads and the end
	"interpreter", // scopes, logs, cancels
	"serving",     // predictions and batches
}

// cUnits returns the code of the C files of this folder, a file with its header, without comments and literals. The names
// of included headers stay, in angle brackets.
func cUnits(t *testing.T) map[string]string {
	t.Helper()
	files := assert.Must(filepath.Glob("*.[ch]"))(t)
	aside := regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'(?:\\.|[^'\\])+'`)
	include := regexp.MustCompile(`#include "(\w+)\.h"`)
	units := map[string]string{}
	for _, file := range files {
		text := assert.Must(os.ReadFile(file))(t)
		code := include.ReplaceAllString(string(text), "#include <$1>")
		units[strings.TrimSuffix(file, filepath.Ext(file))] += aside.ReplaceAllString(code, " ") + "\n"
	}
	return units
}

// definedName matches the name of a function or a variable that a line at the margin defines for other files: it ends in
// the function's body or in a value, or is a variable without one. A static one counts only if it is inline, in a header.
var definedName = regexp.MustCompile(
	`(?m)^(?:static inline )?[A-Za-z_][\w \t*]*?\b(px_\w+)(?:\([^;{}]*\)\s*\{|(?:\[\w*\])*(?:\s*=[^=]|;))`)

// cCalls returns, for each unit of C, the units whose functions or variables it uses, or whose header it includes, with
// their names.
func cCalls(t *testing.T) map[string]map[string][]string {
	t.Helper()
	units := cUnits(t)
	owner := map[string]string{}
	for unit, code := range units {
		for _, m := range definedName.FindAllStringSubmatch(code, -1) {
			first, rest, _ := strings.Cut(m[0], " ")
			static := first == "static" && !strings.HasPrefix(rest, "inline ")
			declares := first == "extern" || first == "typedef" || (first == "struct" && rest == m[1]+";")
			if !static && !declares {
				owner[m[1]] = unit
			}
		}
	}
	assert.TrueNow(t, len(owner) > 180, "got %d definitions, want them all", len(owner))
	calls := map[string]map[string][]string{}
	for unit, code := range units {
		calls[unit] = map[string][]string{}
		for _, name := range regexp.MustCompile(`\bpx_\w+|<\w+>`).FindAllString(code, -1) {
			to := owner[name]
			if header := strings.Trim(name, "<>"); header != name && units[header] != "" {
				to = header
			}
			if to != "" && to != unit && !slices.Contains(calls[unit][to], name) {
				calls[unit][to] = append(calls[unit][to], name)
			}
		}
	}
	return calls
}

// circles returns the sets of nodes that reach each other, each sorted, with a blank between two.
func circles(calls map[string]map[string][]string) []string {
	reaches := func(from string) map[string]bool {
		seen, next := map[string]bool{}, []string{from}
		for len(next) > 0 {
			at := next[len(next)-1]
			next = next[:len(next)-1]
			for to := range calls[at] {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		return seen
	}
	reach := map[string]map[string]bool{}
	for unit := range calls {
		reach[unit] = reaches(unit)
	}
	var found []string
	for unit := range calls {
		var members []string
		for other := range reach[unit] {
			if reach[other][unit] {
				members = append(members, other)
			}
		}
		slices.Sort(members)
		if text := strings.Join(members, " "); text != "" && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	slices.Sort(found)
	return found
}

// TestStoreys_CallsRunDown: C files call those of their own storey and of lower ones, and never in a circle, so that each
// can be read with those below it alone.
func TestStoreys_CallsRunDown(t *testing.T) {
	calls := cCalls(t)
	storey := func(unit string) int {
		prefix, _, _ := strings.Cut(unit, "_")
		return slices.Index(storeys, prefix)
	}
	for unit, to := range calls {
		assert.True(t, storey(unit) >= 0, "%s is in no storey, want one of %s", unit, storeys)
		for other, names := range to {
			assert.True(t, storey(other) <= storey(unit), "%s uses %s of %s, want nothing of a higher storey", unit, names, other)
		}
	}
	assert.Equal(t, "the circles", strings.Join(circles(calls), "; "), "")
}

// TestStoreys_FindsCircles: a circle of one, two and three is found, and what leads to it is not part of it.
func TestStoreys_FindsCircles(t *testing.T) {
	to := func(names ...string) map[string][]string {
		m := map[string][]string{}
		for _, name := range names {
			m[name] = nil
		}
		return m
	}
	got := circles(map[string]map[string][]string{
		"a": to("b"), "b": to("c", "d"), "c": to("a"), "d": to("e"), "e": to("f"), "f": to("e"), "g": to("a"), "h": to("h"), "i": to(),
	})
	assert.Equal(t, "the circles", strings.Join(got, ", "), "a b c, e f, h")
}
