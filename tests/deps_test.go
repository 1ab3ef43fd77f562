package tests

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
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"pinion/tests/harness"
)

const architecture = "ARCHITECTURE.md"

// mayUseC are the packages whose Go files may say `import "C"`.
func mayUseC() []string {
	return []string{"cmd/pinion/timerslack", "pyembed", "pyembed/cuda", "pyembed/nvml", "third_party/cpy3"}
}

// anyTestMayImport are what tests of any package use: the helpers, and the NATS server of which the command has only the client.
func anyTestMayImport() []string { return []string{"tests/await", "tests/rawgrpc", "runtime/natsserver"} }

// An importTable is the table of packages in ARCHITECTURE.md: by the name of a row, the packages that it may import.
//
// A name is a folder of this checkout; "bench/..." stands for all packages in bench and below it that have no row. The
// last cell of a row holds names in backticks, or one of the words below.
type importTable map[string][]string

const (
	allPackages = "all"
	noPackages  = "nothing of ours"
)

// readImportTable reads the first table whose last heading is "may import".
func readImportTable(text string) (importTable, error) {
	_, text, found := strings.Cut(text, "| may import |\n")
	if !found {
		return nil, errors.New(`read table of packages: no table has the heading "may import"`)
	}
	names := regexp.MustCompile("`([^`]+)`")
	table := importTable{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 3 {
			break // the table's end
		}
		pkg, imports := strings.Trim(cells[0], " `"), strings.TrimSpace(cells[len(cells)-1])
		if strings.Trim(pkg, "-") == "" {
			continue // the line under the heading
		}
		if table[pkg] != nil {
			return nil, fmt.Errorf("read table of packages: %s has two rows", pkg)
		}
		table[pkg] = []string{}
		for _, m := range names.FindAllStringSubmatch(imports, -1) {
			table[pkg] = append(table[pkg], m[1])
		}
		words := strings.Trim(names.ReplaceAllString(imports, ""), ", ")
		switch {
		case words == allPackages && len(table[pkg]) == 0:
			table[pkg] = []string{allPackages}
		case words == noPackages && len(table[pkg]) == 0:
		case words == "" && len(table[pkg]) > 0:
		default:
			return nil, fmt.Errorf("read table of packages: the row of %s ends with %q; want names in backticks, %q or %q", pkg, imports, noPackages, allPackages)
		}
	}
	return table, nil
}

// row returns the name of the row that stands for the package.
func (table importTable) row(pkg string) (string, bool) {
	if _, ok := table[pkg]; ok {
		return pkg, true
	}
	top, _, _ := strings.Cut(pkg, "/")
	_, ok := table[top+"/..."]
	return top + "/...", ok
}

// below returns every row that can be reached from this one.
func (table importTable) below(row string) map[string]bool {
	reached := map[string]bool{}
	var walk func(string)
	walk = func(from string) {
		for _, next := range table[from] {
			if !reached[next] {
				reached[next] = true
				walk(next)
			}
		}
	}
	walk(row)
	return reached
}

// A listed is a package as `go list -json` describes it.
type listed struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	CgoFiles     []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// violations returns a sentence for each difference between the table and the packages, sorted. Programs import what
// their row names; tests also what those rows name in turn, and anyTestMayImport.
func violations(table importTable, packages map[string]listed) []string {
	var out []string
	complain := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	folders := map[string]string{} // by import path
	for folder, p := range packages {
		folders[p.ImportPath] = folder
	}
	used := map[string][]string{} // by row, the rows that its packages import
	for folder, p := range packages {
		row, ok := table.row(folder)
		if !ok {
			complain("package %s has no row in the table of packages: add one to "+architecture, folder)
			continue
		}
		if used[row] == nil {
			used[row] = []string{}
		}
		if len(p.CgoFiles) > 0 && !slices.Contains(mayUseC(), folder) {
			complain(`package %s says import "C" in %s: only %s may`, folder, strings.Join(p.CgoFiles, ", "), strings.Join(mayUseC(), ", "))
		}
		open := slices.Contains(table[row], allPackages)
		for _, imported := range p.Imports {
			to, ours := folders[imported]
			if !ours {
				continue
			}
			toRow, _ := table.row(to)
			used[row] = append(used[row], toRow)
			switch {
			case toRow == row:
			case strings.HasPrefix(to, "tests/"):
				complain("package %s imports %s, which is for tests alone", folder, to)
			case !open && !slices.Contains(table[row], toRow):
				complain("package %s imports %s: remove the import, or add `%s` to the row of `%s` in "+architecture, folder, to, toRow, row)
			}
		}
		below := table.below(row)
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			to, ours := folders[imported]
			if toRow, _ := table.row(to); ours && toRow != row && !slices.Contains(anyTestMayImport(), to) && !open && !below[toRow] {
				complain("a test of package %s imports %s, which the row of `%s` in "+architecture+" does not reach", folder, to, row)
			}
		}
	}
	for row, allowed := range table {
		if used[row] == nil {
			complain("the row of `%s` in "+architecture+" stands for no package: remove it", row)
			continue
		}
		for _, name := range allowed {
			if name != allPackages && !slices.Contains(used[row], name) {
				complain("the row of `%s` in "+architecture+" names `%s`, which it does not import: remove the name", row, name)
			}
		}
	}
	sort.Strings(out)
	return slices.Compact(out)
}

// TestImportsAreThoseOfTheTable compares the table in ARCHITECTURE.md with the code.
func TestImportsAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	text := readFile(t, filepath.Join("..", architecture))
	table, err := readImportTable(text)
	if err != nil {
		t.Fatal(err)
	}
	packages := list(t, "")
	for folder, tagged := range list(t, "pinion_test") {
		plain := packages[folder]
		tagged.Imports = slices.Concat(tagged.Imports, plain.Imports)
		packages[folder] = tagged
	}
	for _, v := range violations(table, packages) {
		t.Error(v)
	}
}

const exampleTable = "| package | duty | may import |\n|---|---|---|\n" +
	"| `cmd` | wires | all |\n" +
	"| `httpd` | HTTP | `predict` |\n" +
	"| `predict` | states | `json` |\n" +
	"| `json` | reads | nothing of ours |\n" +
	"| `tests/...` | tests | nothing of ours |\n" +
	"\n| another | table |\n"

func TestViolationsAreFound(t *testing.T) {
	table, err := readImportTable(exampleTable)
	if err != nil {
		t.Fatal(err)
	}
	imports := func(to ...string) listed { return listed{Imports: to} }
	cases := []struct {
		name    string
		changed map[string]listed
		want    string // a part of the one complaint; empty for none
	}{
		{"as drawn", nil, ""},
		{"a package of others", map[string]listed{"json": imports("fmt", "github.com/valyala/fasthttp")}, ""},
		{"a test of what is further down", map[string]listed{"httpd": {Imports: []string{"m/predict"}, TestImports: []string{"m/json"}}}, ""},
		{"its own package, from an external test", map[string]listed{"json": {XTestImports: []string{"m/json"}}}, ""},
		{"the tests' own in a test", map[string]listed{"json": {TestImports: []string{"m/tests/await"}}}, ""},

		{"not in the row", map[string]listed{"json": imports("m/predict")}, "add `predict` to the row of `json`"},
		{"further down", map[string]listed{"httpd": imports("m/predict", "m/json")}, "add `json` to the row of `httpd`"},
		{"in the row, not used", map[string]listed{"predict": imports()}, "names `json`, which it does not import"},
		{"no row", map[string]listed{"util": imports()}, "package util has no row"},
		{"the tests' own in a program", map[string]listed{"json": imports("m/tests/await")}, "which is for tests alone"},
		{"the tests' own in one that may import all", map[string]listed{"cmd": imports("m/tests/await")}, "which is for tests alone"},
		{"upwards in a test", map[string]listed{"json": {TestImports: []string{"m/httpd"}}}, "a test of package json imports httpd"},
		{"upwards in an external test", map[string]listed{"json": {XTestImports: []string{"m/httpd"}}}, "a test of package json imports httpd"},
		{"C elsewhere", map[string]listed{"json": {CgoFiles: []string{"fast.go"}}}, `import "C" in fast.go`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			packages := map[string]listed{
				"cmd": imports("m/httpd"), "httpd": imports("m/predict"), "predict": imports("m/json"), "json": imports(), "tests/await": imports(),
			}
			maps.Copy(packages, c.changed)
			for folder, p := range packages {
				p.ImportPath = "m/" + folder
				packages[folder] = p
			}
			got := violations(table, packages)
			if c.want == "" && len(got) > 0 {
				t.Errorf("complains of a lawful package: %q", got)
			}
			if c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want one complaint with %q", got, c.want)
			}
		})
	}
	t.Run("a row without a package", func(t *testing.T) {
		got := violations(importTable{"gone": {}}, nil)
		if len(got) != 1 || !strings.Contains(got[0], "stands for no package") {
			t.Errorf("got %q, want one complaint of the row", got)
		}
	})
}

func TestTableOfPackagesThatCannotBeRead(t *testing.T) {
	for _, text := range []string{
		"| package | duty |\n",
		"| p | d | may import |\n| `a` | x | predict |\n",
		"| p | d | may import |\n| `a` | x | `b` and others |\n",
		"| p | d | may import |\n| `a` | x | |\n",
		"| p | d | may import |\n| `a` | x | `b`, nothing of ours |\n",
		"| p | d | may import |\n| `a` | x | `b` |\n| `a` | x | `c` |\n",
	} {
		if table, err := readImportTable(text); err == nil {
			t.Errorf("%q gave %v, want an error", text, table)
		}
	}
}

// TestEverythingElseBuildsWithoutC: of the same files, and of no package in C. Only a full run compiles them, which takes a
// second compilation of most of the standard library.
func TestEverythingElseBuildsWithoutC(t *testing.T) {
	t.Parallel()
	packages := list(t, "")
	pure := map[string]listed{} // by import path
	for folder, p := range packages {
		if !strings.HasPrefix(folder, "cmd/") && !slices.Contains(mayUseC(), folder) && len(p.GoFiles) > 0 {
			pure[p.ImportPath] = p
		}
	}
	paths := slices.Sorted(maps.Keys(pure))
	without := goTool(t, "0", append([]string{"list", "-deps", "-f", `{{.ImportPath}} {{join .GoFiles " "}}`}, paths...)...)
	found := 0
	for line := range strings.Lines(string(without)) {
		path, files, _ := strings.Cut(strings.TrimSpace(line), " ")
		if p, ours := pure[path]; ours {
			found++
			if with := strings.Join(p.GoFiles, " "); files != with {
				t.Errorf("%s is made of %s without C, and of %s with it", path, files, with)
			}
		}
		for _, folder := range mayUseC() {
			if path == packages[folder].ImportPath {
				t.Errorf("%s is needed without C", path)
			}
		}
	}
	if found != len(pure) {
		t.Errorf("%d of %d packages were looked at", found, len(pure))
	}
	if harness.IsFull() {
		goTool(t, "0", append([]string{"build"}, paths...)...)
	}
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
	t.Parallel()
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
		dir := folder(t, "doc.go", text)
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

// list returns the packages of this module and of third_party/cpy3, by their folder in the checkout.
func list(t *testing.T, tags string) map[string]listed {
	t.Helper()
	// Without cgo the go command would not tell which files say import "C".
	decoder := json.NewDecoder(bytes.NewReader(goTool(t, "1", "list", "-tags", tags, "-json", "./...", "github.com/go-python/cpy3")))
	root := absolute(t, "..")
	out := map[string]listed{}
	for {
		var p listed
		err := decoder.Decode(&p)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("read go list: %v", err)
		}
		folder, err := filepath.Rel(root, p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		out[folder] = p
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
