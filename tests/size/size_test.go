package size

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
)

const (
	root   = "../.."
	record = "recorded.txt"
)

const heading = `# Lines of code and statements of each room, as doc.go says; written by PINION_RECORD=1 go test ./tests/size.
# room                                  lines  statements
`

var (
	product   = []string{"cmd", "httpd", "ipc", "pyembed", "runtime"}
	generated = regexp.MustCompile(`(?m)^(?://|#|/\*) ?Code generated .* DO NOT EDIT`)
)

// TestSize_OfRooms compares each room with its record. A room that is not recorded fails too: it is recorded by the commit that
// makes it.
func TestSize_OfRooms(t *testing.T) {
	rooms := countRooms(t)
	if os.Getenv("PINION_RECORD") == "1" {
		assert.NoError(t, os.WriteFile(record, format(rooms), 0o644))
	}
	recorded := readRecord(t)
	for name, c := range rooms {
		limit := recorded[name]
		if c.lines > limit.lines || c.statements > limit.statements {
			t.Errorf("%s: got %d lines and %d statements, want at most %d and %d, as %s says: PINION_RECORD=1 records them, "+
				"and the commit says what they are spent for", name, c.lines, c.statements, limit.lines, limit.statements, record)
		}
	}
	for name := range recorded {
		if _, ok := rooms[name]; !ok {
			t.Errorf("%s: got no such room, want its row of %s removed", name, record)
		}
	}
}

// countRooms counts the files that git knows or would take.
func countRooms(t *testing.T) map[string]count {
	t.Helper()
	list, err := exec.Command("git", "-C", root, "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("not in a checkout of git: %v", err)
	}
	rooms := map[string]count{}
	for path := range strings.Lines(string(list)) {
		path = strings.TrimSpace(path)
		if room(path) == "" {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) || generated.Match(source[:min(len(source), 1000)]) {
			continue
		}
		assert.NoError(t, err)
		sum := rooms[room(path)]
		switch extension := filepath.Ext(path); extension {
		case ".go":
			c := assert.Must(goCount(path, source))(t)
			sum.add(c)
		case ".py":
			sum.add(pythonCount(string(source)))
		case ".c", ".h", ".js", ".css", ".html", ".sh":
			sum.add(textCount(extension, string(source)))
		default:
			continue
		}
		rooms[room(path)] = sum
	}
	return rooms
}

// room names the room of a file, or nothing for a file of no room.
func room(path string) string {
	parts := strings.Split(path, "/")
	folders := parts[:len(parts)-1]
	if len(folders) == 0 {
		return ""
	}
	if folders[0] == "tests" {
		return strings.Join(folders[:min(2, len(folders))], "/")
	}
	if !slices.Contains(product, folders[0]) {
		return ""
	}
	depth := 2
	if len(folders) > 2 && folders[2] == "internal" {
		depth = 4
	}
	name, kept := "", 0
	for _, folder := range folders {
		if folder == "testdata" || folder == "tests" || kept == depth {
			break
		}
		name, kept = name+"/"+folder, kept+1
	}
	name = name[1:]
	if strings.HasSuffix(path, "_test.go") || slices.Contains(folders, "testdata") || slices.Contains(folders, "tests") {
		name += " tests"
	}
	return name
}

func format(rooms map[string]count) []byte {
	text := []byte(heading)
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		text = fmt.Appendf(text, "%-38s %6d %11d\n", name, rooms[name].lines, rooms[name].statements)
	}
	return text
}

func readRecord(t *testing.T) map[string]count {
	t.Helper()
	text := assert.Must(os.ReadFile(record))(t)
	recorded := map[string]count{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Fields(line) // ROOM LINES STATEMENTS; tests of a room have two words
		var c count
		_, err := fmt.Sscan(strings.Join(row[len(row)-2:], " "), &c.lines, &c.statements)
		assert.NoError(t, err)
		recorded[strings.Join(row[:len(row)-2], " ")] = c
	}
	return recorded
}
