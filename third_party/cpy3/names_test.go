package python3

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestNames_AreGenerated sees that each entry of the table has its natural name.
func TestNames_AreGenerated(t *testing.T) {
	funcs, err := os.ReadFile("cpy3_funcs.h")
	if err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadFile("cpy3_names.h")
	if err != nil {
		t.Fatal(err)
	}
	function := regexp.MustCompile(`^  X\([^()]*?, (Py\w+), \(`)
	object := regexp.MustCompile(`^  X\((Py\w+)[,)]`)
	count, optional := 0, false // entries, but those for which cpy3_macros.h has what other builds use
	for _, line := range strings.Split(string(funcs), "\n") {
		if list, ok := strings.CutPrefix(line, "#define "); ok {
			optional = strings.HasPrefix(list, "CPY3_FUNCS_OPTIONAL(")
		}
		if !strings.HasPrefix(line, "  X(") || optional {
			continue
		}
		m := function.FindStringSubmatch(line)
		if m == nil {
			m = object.FindStringSubmatch(line)
		}
		if m == nil {
			t.Errorf("got the line %s, want an entry", line)
			continue
		}
		count++
		if name := m[1]; !strings.Contains(string(names), "#define "+name+" (CPY3->"+name+")\n") &&
			!strings.Contains(string(names), "#define "+name+" (*CPY3->"+name+")\n") {
			t.Errorf("got cpy3_names.h without %s, want it there: run go generate", name)
		}
	}
	if defined := strings.Count(string(names), "(CPY3->") + strings.Count(string(names), "(*CPY3->"); defined != count {
		t.Errorf("cpy3_names.h has %d names, want %d: run go generate", defined, count)
	}
}
