package logtext

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestText_KeepsBounds keeps no more than Max bytes and says so, each time that it is asked.
func TestText_KeepsBounds(t *testing.T) {
	var text Text
	text.Add([]byte("begin"))
	assert.Equal(t, "text", string(text.Bytes()), "begin")
	text.Add(make([]byte, Max))
	text.Add([]byte("more"))
	for range 2 {
		got := text.Bytes()
		if want := "\n[9 bytes of log were cut: 16 MiB of it are kept]\n"; len(got) != Max+len(want) ||
			string(got[Max:]) != want {
			t.Errorf("%d bytes that end with %q, want %d and %q", len(got), got[max(0, len(got)-60):], Max, want)
		}
	}
}

// TestLogText_NoticesNameLimits: the line's notice is a constant, so it could name another number.
func TestLogText_NoticesNameLimits(t *testing.T) {
	assert.Contains(t, fmt.Sprintf("the notice is , the limit %d", MaxLine),
		LineNotice, fmt.Sprintf("longer than %d MiB", MaxLine>>20))
}

// TestLogText_LimitsAreDefinedOnce: no other code has notices, and so limits.
func TestLogText_LimitsAreDefinedOnce(t *testing.T) {
	var found []string
	for _, root := range []string{"../../runtime", "../../httpd", "../../ipc", "../../cmd", "../../pyembed"} {
		assert.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			switch ext := filepath.Ext(path); {
			case ext != ".go" && ext != ".py" && ext != ".c" && ext != ".h":
				return nil
			case strings.HasSuffix(path, "_test.go"), strings.Contains(path, "tests"):
				return nil
			}
			text, err := os.ReadFile(path)
			for _, notice := range []string{"of log were cut", "[cut: "} {
				if strings.Contains(string(text), notice) {
					found = append(found, path)
				}
			}
			return err
		}))
	}
	want := "../../runtime/logtext/logtext.go"
	assert.True(t, fmt.Sprint(found) == fmt.Sprint([]string{want, want}), "notices are in %v, want both in %s alone", found, want)
}
