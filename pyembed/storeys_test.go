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

// knownCircles are units of C that call each other in a circle today.
var knownCircles = []string{
	"px_batch px_batchserve px_calls px_cancel px_control px_crash px_events px_flusher px_fork px_interrupt " +
		"px_logs px_main px_module px_pipes px_preload px_reply px_send px_serve px_stack px_tasks " +
		"px_threads px_waiter px_waitmethods",
}

// cUnits returns the code of the C files of this folder, a file with its header, without comments and literals.
func cUnits(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("px_*.[ch]")
	assert.NoError(t, err)
	aside := regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'`)
	units := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		assert.NoError(t, err)
		units[strings.TrimSuffix(file, filepath.Ext(file))] += aside.ReplaceAllString(string(text), " ") + "\n"
	}
	return units
}

// definedName matches the name of a function or a variable that a line at the margin defines for other files: it ends in
// the function's body or in a value, or is a variable without one. A static one counts only if it is inline, in a header.
var definedName = regexp.MustCompile(
	`(?m)^(?:static inline )?[A-Za-z_][\w \t*]*?\b(px_\w+)(?:\([^;{}]*\)\s*\{|(?:\[\w*\])*(?:\s*=[^=]|;))`)

// cCalls returns, for each unit of C, the units whose functions or variables it uses, with their names.
func cCalls(t *testing.T) map[string]map[string][]string {
	t.Helper()
	units := cUnits(t)
	owner := map[string]string{}
	for unit, code := range units {
		for _, m := range definedName.FindAllStringSubmatch(code, -1) {
			if first, _, _ := strings.Cut(m[0], " "); first == "extern" || first == "typedef" || first == "return" ||
				(first == "static" && !strings.HasPrefix(m[0], "static inline")) {
				continue
			}
			owner[m[1]] = unit
		}
	}
	assert.TrueNow(t, len(owner) > 180, "got %d definitions, want them all", len(owner))
	calls := map[string]map[string][]string{}
	for unit, code := range units {
		calls[unit] = map[string][]string{}
		for _, name := range regexp.MustCompile(`\bpx_\w+`).FindAllString(code, -1) {
			if to := owner[name]; to != "" && to != unit && !slices.Contains(calls[unit][to], name) {
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

// TestStoreys_NoCircles: C files call each other in one direction, so that each can be read with those below it alone.
func TestStoreys_NoCircles(t *testing.T) {
	calls := cCalls(t)
	found := circles(calls)
	if !slices.Equal(found, knownCircles) {
		t.Errorf("the circles are\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(knownCircles, "\n"))
	}
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
