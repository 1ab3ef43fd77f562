package predict

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestImports_NoIO: the package opens no files and no connections, and writes no logs.
func TestImports_NoIO(t *testing.T) {
	files, err := filepath.Glob("*.go")
	assert.TrueNow(t, err == nil && len(files) != 0, "got %q %v, want at least one", files, err)
	forbidden := []string{"bufio", "log", "net", "os", "path", "syscall"}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed := assert.Must(parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly))(t)
		for _, spec := range parsed.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			top, _, _ := strings.Cut(name, "/")
			assert.False(t, slices.Contains(forbidden, top), "%s imports %s: got %.300q, want no %q among them", file, name, forbidden, top)
		}
	}
}
