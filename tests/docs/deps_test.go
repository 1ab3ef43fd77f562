package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// mayUseC are the packages whose Go files may say `import "C"`.
func mayUseC() []string {
	return []string{"cmd/pinion", "pyembed", "pyembed/cuda", "runtime/gpu/nvml", "third_party/cpy3"}
}

// A listed is a package as `go list -json` describes it.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
}

// TestDeps_EverythingElseBuildsWithoutC: of the same files, and of no package in C. Only a full run compiles them,
// which takes a second compilation of most of the standard library.
func TestDeps_EverythingElseBuildsWithoutC(t *testing.T) {
	t.Parallel()
	packages := list(t, "")
	for folder, p := range packages {
		assert.True(t, len(p.CgoFiles) == 0 || slices.Contains(mayUseC(), folder),
			`package %s says import "C" in %s, want it only in %s`, folder, strings.Join(p.CgoFiles, ", "),
			strings.Join(mayUseC(), ", "))
	}
	pure := map[string]listed{} // by import path
	for folder, p := range packages {
		if !strings.HasPrefix(folder, "cmd/") && !slices.Contains(mayUseC(), folder) && len(p.GoFiles) > 0 {
			pure[p.ImportPath] = p
		}
	}
	paths := slices.Sorted(maps.Keys(pure))
	without := goTool(t, "0", append([]string{"list", "-deps", "-f", `{{.ImportPath}} {{join .GoFiles " "}}`},
		paths...)...)
	found := 0
	for line := range strings.Lines(string(without)) {
		path, files, _ := strings.Cut(strings.TrimSpace(line), " ")
		if p, ours := pure[path]; ours {
			found++
			assert.Equal(t, path, files, strings.Join(p.GoFiles, " "))
		}
		for _, folder := range mayUseC() {
			assert.True(t, path != packages[folder].ImportPath,
				"%s is needed without C, want anything but %q", path, packages[folder].ImportPath)
		}
	}
	assert.Equal(t, "found", found, len(pure))
	if harness.IsFull() {
		goTool(t, "0", append([]string{"build"}, paths...)...)
	}
}

func TestDeps_RuntimeFolderHoldsNoGoFile(t *testing.T) {
	files := assert.Must(filepath.Glob(filepath.Join("..", "runtime", "*.go")))(t)
	assert.True(t, len(files) == 0, "a package named runtime would hide the standard library's: %q", files)
}

func TestDeps_EachPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "") {
		err := checkDoc(p.Dir)
		assert.True(t, err == nil, "%s: got %v, want no error", p.ImportPath, err)
	}
}

func TestDeps_CheckDoc(t *testing.T) {
	for text, ok := range map[string]bool{
		"// Package x is for the test.\npackage x\n": true,
		"package x\n":                             false,
		"// Copyright, apart.\n\npackage x\n":     false,
		"// Package x is here.\npackage x\n(\n":   true, // only the clause is read
		"// Package x, but this is not Go\nnoise": false,
	} {
		dir := harness.NewFolder(t, "doc.go", text)
		err := checkDoc(dir)
		assert.True(t, (err == nil) == ok, "checkDoc of %q = %v, want it to succeed: %v", text, err, ok)
	}
	assert.ErrorIs(t, "checkDoc of a folder without doc.go", checkDoc(t.TempDir()), os.ErrNotExist)
}

// checkDoc fails unless the folder has a doc.go with a package comment.
func checkDoc(dir string) error {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "doc.go"), nil,
		parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		return fmt.Errorf("read package comment: %w", err)
	}
	if file.Doc == nil {
		return errors.New("read package comment: doc.go has none above its package clause")
	}
	return nil
}

// list returns the packages of this module and of third_party/cpy3, by their folder in the checkout.
func list(t *testing.T, tags string) map[string]listed {
	t.Helper()
	// Without cgo the go command would not tell which files say import "C".
	decoder := json.NewDecoder(bytes.NewReader(
		goTool(t, "1", "list", "-tags", tags, "-json", "./...", "github.com/go-python/cpy3")))
	root := harness.Absolute(t, "..")
	out := map[string]listed{}
	for {
		var p listed
		err := decoder.Decode(&p)
		if err == io.EOF {
			break
		}
		assert.NoError(t, err, "read go list")
		folder := assert.Must(filepath.Rel(root, p.Dir))(t)
		out[folder] = p
	}
	assert.TrueNow(t, len(out) != 0, "go list found no package: got none, want at least one")
	return out
}

// goTool runs the go command in the module's root and returns its standard output.
func goTool(t *testing.T, cgo string, arguments ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.Command("go", arguments...)
	command.Dir = ".."
	command.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	command.Stderr = &stderr
	out, err := command.Output()
	assert.NoError(t, err, "go", strings.Join(arguments, " "), stderr.String())
	return out
}
