package cuda

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
)

func TestMeanings_Codes(t *testing.T) {
	seen := map[string]bool{}
	last := 0
	for _, m := range Meanings() {
		if seen[m.Key] {
			t.Errorf("%s stands twice, want seen[m.Key] false", m.Key)
		}
		seen[m.Key] = true
		assert.True(t, slices.Contains([]State{Absent, NoDevice, DriverTooOld, Failed, Hanging, Forked}, m.State),
			"%s: got the state %q, want a known one", m.Key, m.State)
		if m.Fix == "" || len(m.Fix) > 800 { // 1024 in C, less what is added
			t.Errorf("%s has a fix of %d bytes, want Fix non-empty and len(Fix) at most 800 bytes", m.Key, len(m.Fix))
		}
		code, _ := strconv.Atoi(m.Key) // 0 for a condition
		if code != 0 && (code <= last || m.Name == "") {
			t.Errorf("%s is out of order or has no name: got code %d, Name %q, want code more than %d and Name non-empty", m.Key,
				code, m.Name, last)
		}
		if code == 0 && m.Name != "" {
			t.Errorf("%s has a name, but no number: got %q, want none", m.Key, m.Name)
		}
		if code != 0 {
			last = code
		}
	}
	for _, key := range []string{keyNoLibrary, keySymbol, keyHanging, keyForked, keyThread, keyOther} {
		assert.True(t, seen[key], "%s is missing, want seen[key] true", key)
	}
}

func TestMeanings_Encode(t *testing.T) {
	long := visibleDevices(strings.Repeat("\x01", 5000), true)
	text := encode(Meanings(), long)
	if len(text) > 16384 { // PX_CUDA_FIXES_MAX
		t.Errorf("%d bytes are too many, want at most 16384 bytes", len(text))
	}
	assert.Equal(t, "fields", strings.Count(text, "\x00"), 4*len(Meanings()))
	if got := encode([]Meaning{{"100", NoDevice, "N", "look"}, {"2", Failed, "M", "x\x00y"}},
		`V is "1"`); got != "100\x00no_device\x00N\x00look; V is \"1\"\x002\x00failed\x00M\x00xy\x00" {
		t.Errorf("got %q, want each meaning with its code, state, name and advice, ended by zero bytes", got)
	}
	assert.Equal(t, "a variable that is not set", visibleDevices("", false), "")
}

// TestMeanings_Docs: the table in the documentation is this one.
func TestMeanings_Docs(t *testing.T) {
	text := assert.Must(os.ReadFile("../../docs/explanation/cuda.md"))(t)
	for _, m := range Meanings() {
		// else it would end the cell
		row := "| " + m.Key + " | " + m.Name + " | `" + string(m.State) + "` | " + strings.ReplaceAll(m.Fix, "|", `\|`) + " |"
		assert.Contains(t, "docs/explanation/cuda.md", string(text), row)
	}
}
