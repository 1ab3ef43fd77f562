package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

const (
	cpy3    = "github.com/go-python/cpy3"
	rawjson = "runtime/rawjson"
	await   = "tests/await"
)

// drawn is the drawing of imports in ARCHITECTURE.md: a package may import what stands below it, directly or further
// down. Folders that hold several packages of one kind (cmd, tests, bench) stand here as one, but for tests/await, which all
// tests may have.
func drawn() map[string][]string {
	return map[string][]string{
		"cmd":               {"httpd", "httpd/openapi", "httpd/page", "runtime/metrics", "runtime/batching", "runtime/service", "runtime/watch", "pyembed", "pyembed/nvml"},
		"httpd":             {"runtime/predict", "runtime/memory", "httpd/msgpack", "httpd/openapi", "runtime/spare", await},
		"httpd/msgpack":     {},
		"httpd/openapi":     {},
		"httpd/page":        {},
		"runtime/service":   {"runtime/supervise", "runtime/schema", "runtime/files", "runtime/webhook"},
		"runtime/supervise": {"runtime/slot"},
		"runtime/slot":      {"runtime/predict", "runtime/batch", "ipc", await},
		"runtime/schema":    {"runtime/predict"},
		"runtime/files":     {"runtime/predict", "runtime/publicnet"},
		"runtime/webhook":   {"runtime/predict", "runtime/publicnet"},
		"runtime/publicnet": {},
		"runtime/predict":   {"runtime/memory"},
		"runtime/memory":    {},
		"runtime/batch":     {},
		"runtime/batching":  {"runtime/batch", await},
		"runtime/metrics":   {"runtime/predict"},
		rawjson:             {},
		await:               {},
		"runtime/spare":     {},
		"runtime/watch":     {await},
		"ipc":               {"runtime/spare", await},
		"pyembed":           {"pyembed/sdk", "pyembed/cuda", "pyembed/locate", cpy3},
		"pyembed/sdk":       {},
		"pyembed/cuda":      {},
		"pyembed/nvml":      {},
		"pyembed/locate":    {},
		cpy3:                {},
		"tests":             {},
		"bench":             {"runtime/predict"},
	}
}

// importsNothing are the packages that may not even import rawjson, the leaf that is open to all others.
func importsNothing() []string { return []string{rawjson, cpy3} }

// onlyInTests are the packages that no program is to hold.
func onlyInTests() []string { return []string{await} }

// mayUseC are the packages whose Go files may say `import "C"`.
func mayUseC() []string { return []string{"pyembed", "pyembed/cuda", "pyembed/nvml", cpy3} }

// A listed is a package as `go list -json` describes it.
type listed struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	CgoFiles     []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// name is the package's name in the drawing, and ours is false for packages of others.
func name(importPath string) (name string, ours bool) {
	if importPath == cpy3 {
		return cpy3, true
	}
	name, ours = strings.CutPrefix(importPath, "pinion/")
	if !ours {
		return "", false
	}
	if name == await {
		return name, true
	}
	if top, _, _ := strings.Cut(name, "/"); slices.Contains([]string{"cmd", "tests", "bench"}, top) {
		return top, true
	}
	return name, true
}

// below returns what the package may import: everything that can be reached from it in the drawing.
func below(drawing map[string][]string, pkg string) map[string]bool {
	reached := map[string]bool{}
	var walk func(string)
	walk = func(p string) {
		for _, next := range drawing[p] {
			if !reached[next] {
				reached[next] = true
				walk(next)
			}
		}
	}
	walk(pkg)
	return reached
}

// violations returns a line for each way in which the packages break the rules, sorted.
func violations(drawing map[string][]string, packages []listed) []string {
	var out []string
	complain := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, p := range packages {
		from, ours := name(p.ImportPath)
		if !ours {
			continue
		}
		if _, known := drawing[from]; !known {
			complain("%s has no place in the drawing of imports", p.ImportPath)
			continue
		}
		if len(p.CgoFiles) > 0 && !slices.Contains(mayUseC(), from) {
			complain(`%s says import "C" in %s`, p.ImportPath, strings.Join(p.CgoFiles, ", "))
		}
		for _, imported := range p.Imports {
			if to, ours := name(imported); ours && slices.Contains(onlyInTests(), to) {
				complain("%s imports %s, which is for tests", p.ImportPath, imported)
			}
		}
		allowed := below(drawing, from)
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			to, ours := name(imported)
			switch {
			case !ours, to == from, allowed[to]:
			case to == rawjson && !slices.Contains(importsNothing(), from):
			default:
				complain("%s imports %s", p.ImportPath, imported)
			}
		}
	}
	sort.Strings(out)
	return slices.Compact(out)
}

func TestImportsRunOneWay(t *testing.T) {
	for _, tags := range []string{"", "pinion_test"} {
		packages := list(t, tags)
		for _, v := range violations(drawn(), packages) {
			t.Errorf("tags %q: %s", tags, v)
		}
	}
}

func TestViolationsAreFound(t *testing.T) {
	imports := func(from string, to ...string) listed { return listed{ImportPath: from, Imports: to} }
	cases := []struct {
		name string
		pkg  listed
		want string // a part of the one complaint; empty for none
	}{
		{"downwards", imports("pinion/runtime/slot", "pinion/ipc", "fmt", "github.com/valyala/fasthttp"), ""},
		{"further down", imports("pinion/runtime/service", "pinion/ipc", "pinion/runtime/predict"), ""},
		{"the open leaf", imports("pinion/httpd", "pinion/runtime/rawjson"), ""},
		{"a command", imports("pinion/cmd/pinion", "pinion/pyembed", "pinion/httpd", "pinion/ipc"), ""},
		{"its own package, from an external test", listed{ImportPath: "pinion/ipc", XTestImports: []string{"pinion/ipc"}}, ""},
		{"C in its place", listed{ImportPath: cpy3, CgoFiles: []string{"cgo.go"}}, ""},

		{"the tests' own", listed{ImportPath: "pinion/runtime/slot", TestImports: []string{"pinion/tests/await"}}, ""},

		{"the tests' own in a program", imports("pinion/runtime/slot", "pinion/tests/await"), "which is for tests"},
		{"upwards", imports("pinion/ipc", "pinion/runtime/slot"), "pinion/ipc imports pinion/runtime/slot"},
		{"sideways", imports("pinion/httpd", "pinion/runtime/service"), "imports pinion/runtime/service"},
		{"httpd sees ipc", imports("pinion/httpd", "pinion/ipc"), "pinion/httpd imports pinion/ipc"},
		{"pyembed outside cmd", imports("pinion/runtime/supervise", "pinion/pyembed"), "imports pinion/pyembed"},
		{"in a test", listed{ImportPath: "pinion/runtime/slot", TestImports: []string{"pinion/pyembed"}}, "imports pinion/pyembed"},
		{"in an external test", listed{ImportPath: "pinion/ipc", XTestImports: []string{"pinion/httpd"}}, "imports pinion/httpd"},
		{"cpy3 and the open leaf", imports(cpy3, "pinion/runtime/rawjson"), "imports pinion/runtime/rawjson"},
		{"cpy3 looks back", imports(cpy3, "pinion/ipc"), cpy3 + " imports pinion/ipc"},
		{"a command imported", imports("pinion/httpd", "pinion/cmd/pinion"), "imports pinion/cmd/pinion"},
		{"a package nobody drew", imports("pinion/runtime/util"), "no place"},
		{"C elsewhere", listed{ImportPath: "pinion/ipc", CgoFiles: []string{"fast.go"}}, `import "C" in fast.go`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := violations(drawn(), []listed{c.pkg})
			if c.want == "" && len(got) > 0 {
				t.Errorf("complains of a lawful package: %q", got)
			}
			if c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want one complaint with %q", got, c.want)
			}
		})
	}
}

func TestDrawingHasNoCycle(t *testing.T) {
	for pkg := range drawn() {
		if below(drawn(), pkg)[pkg] {
			t.Errorf("%s stands below itself", pkg)
		}
	}
}

func TestEverythingElseBuildsWithoutC(t *testing.T) {
	var pure []string
	for _, p := range list(t, "") {
		from, _ := name(p.ImportPath)
		if from != "cmd" && !slices.Contains(mayUseC(), from) && len(p.GoFiles) > 0 {
			pure = append(pure, p.ImportPath)
		}
	}
	goTool(t, "0", append([]string{"build"}, pure...)...)
}

func TestRuntimeFolderHoldsNoGoFile(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "runtime", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) > 0 {
		t.Errorf("a package named runtime would hide the standard library's: %q", files)
	}
}

func TestEachPackageSaysWhatItIs(t *testing.T) {
	for _, p := range list(t, "") {
		if err := checkDoc(p.Dir); err != nil {
			t.Errorf("%s: %v", p.ImportPath, err)
		}
	}
}

func TestCheckDoc(t *testing.T) {
	for text, ok := range map[string]bool{
		"// Package x is for the test.\npackage x\n": true,
		"package x\n":                            false,
		"// Copyright, apart.\n\npackage x\n":    false,
		"// Package x is here.\npackage x\n(\n":  true, // only the clause is read
		"// Package x, but this is no Go\nnoise": false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "doc.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := checkDoc(dir); (err == nil) != ok {
			t.Errorf("checkDoc of %q = %v, want it to succeed: %v", text, err, ok)
		}
	}
	if err := checkDoc(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("checkDoc of a folder without doc.go = %v, want ErrNotExist", err)
	}
}

// checkDoc fails unless the folder has a doc.go with a package comment.
func checkDoc(dir string) error {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "doc.go"), nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		return fmt.Errorf("read package comment: %w", err)
	}
	if file.Doc == nil {
		return errors.New("read package comment: doc.go has none above its package clause")
	}
	return nil
}

// list returns the packages of this module and of third_party/cpy3.
func list(t *testing.T, tags string) []listed {
	t.Helper()
	// Without cgo the go command would not tell which files say import "C".
	decoder := json.NewDecoder(bytes.NewReader(goTool(t, "1", "list", "-tags", tags, "-json", "./...", cpy3)))
	var out []listed
	for {
		var p listed
		err := decoder.Decode(&p)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("read go list: %v", err)
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		t.Fatal("go list found no package")
	}
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
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, stderr.String())
	}
	return out
}
