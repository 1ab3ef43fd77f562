package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// count is what was counted, and by how much it may exceed what is recorded: the runtime's own allocations differ a
// little.
type count struct {
	name      string
	n, margin int
}

type record []count

// compare fails for each count that exceeds the recorded one, or records all. What is not recorded may be small.
func (r record) compare(t *testing.T, file string, small int) {
	t.Helper()
	if os.Getenv("PINION_RECORD") == "1" {
		var text strings.Builder
		for _, c := range r {
			fmt.Fprintf(&text, "%d %s\n", c.n, c.name)
		}
		assert.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
		return
	}
	f, err := os.Open(file)
	assert.NoError(t, err)
	defer f.Close()
	recorded := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		n, name, _ := strings.Cut(lines.Text(), " ")
		recorded[name], err = strconv.Atoi(n)
		assert.TrueNow(t, err == nil, "%s: got %v, want no error", file, err)
	}
	for _, c := range r {
		want, ok := recorded[c.name]
		if !ok {
			want = small
		}
		t.Logf("%d %s, recorded are %d", c.n, c.name, want)
		if c.n > want+c.margin {
			t.Errorf("got %d %s, want at most %d, as %s says: PINION_RECORD=1 records it, and the commit says what it is spent for", c.n, c.name, want, file)
		}
	}
}
