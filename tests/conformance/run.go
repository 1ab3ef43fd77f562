package conformance

import (
	"bufio"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pinion/tests/assert"
)

// width is how many servers work at once: most of a script's time is waiting.
const width = 4

// Run runs the scripts of a folder. Those that serve the same share one server, one after the other.
func Run(t *testing.T, folder string) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	assert.TrueNow(t, err == nil && len(scripts) != 0,
		"there are no scripts in %s: %v: got none, want at least one", folder, err)
	groups := map[string][]string{} // by their serve line; a script that starts its own server has no company
	for _, script := range scripts {
		line := serves(t, script)
		if line == "" {
			line = script
		}
		groups[line] = append(groups[line], script)
	}
	queue := make(chan string, len(groups))
	for _, line := range bySize(groups) {
		queue <- line
	}
	close(queue)
	var workers sync.WaitGroup
	for range width {
		workers.Go(func() {
			for line := range queue {
				runGroup(t, line, groups[line])
			}
		})
	}
	workers.Wait()
}

// bySize is the names of the groups, the largest first, so that none is left for the end.
func bySize(groups map[string][]string) []string {
	var lines []string
	for line := range groups {
		lines = append(lines, line)
	}
	sort.Slice(lines, func(i, j int) bool {
		if a, b := len(groups[lines[i]]), len(groups[lines[j]]); a != b {
			return a > b
		}
		return lines[i] < lines[j]
	})
	return lines
}

// serves is the script's line that names a shared server, or "". It fails where the script does not begin with the
// sentence that it holds.
func serves(t *testing.T, script string) string {
	file := assert.Must(os.Open(script))(t)
	defer file.Close()
	lines := bufio.NewScanner(file)
	for first := true; lines.Scan(); first = false {
		line := lines.Text()
		assert.True(t, !first || strings.HasPrefix(line, "# "),
			`%s does not begin with what it is about: got %.300q, want it to start with "# "`, script, line)
		if strings.HasPrefix(line, "serve ") {
			return line
		}
	}
	return ""
}

// runGroup runs scripts one after the other.
func runGroup(t *testing.T, line string, scripts []string) {
	name := strings.TrimSuffix(filepath.Base(scripts[0]), ".txt")
	if len(scripts) > 1 {
		name = strings.NewReplacer(" ", "_", "/", "_").Replace(strings.TrimPrefix(line, "serve "))
	}
	t.Run(name, func(t *testing.T) {
		g := &group{t: t}
		testscript.RunT(shim{t}, testscript.Params{Files: scripts, Setup: g.setup, Cmds: commands()})
	})
}

// shim is a testing.T as testscript wants it. A group's scripts share a server, so none runs beside another.
type shim struct{ *testing.T }

func (s shim) Parallel()     {}
func (s shim) Verbose() bool { return false } // a script that fails shows what it did all the same

func (s shim) Run(name string, run func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { run(shim{t}) })
}
