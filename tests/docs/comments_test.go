package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declared are the exported names of one package: its own, and "Type.Member" for fields and methods.
type declared map[string]bool

// qualified is a name of another package in a comment, as httpd.Options or httpd.Options{Queue: m.
var qualified = regexp.MustCompile(
	`\b([a-z][a-z0-9]+)\.([A-Z][A-Za-z0-9]*)(?:\{([A-Z][A-Za-z0-9]*):|\.([A-Z][A-Za-z0-9]*))?`)

// TestComments_NameWhatExists: a comment that names something of another package of ours is true.
func TestComments_NameWhatExists(t *testing.T) {
	t.Parallel()
	packages, comments := map[string]declared{}, map[string][]string{}
	const root = ".."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".pb.go") { // others write those
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		if packages[file.Name.Name] == nil {
			packages[file.Name.Name] = declared{}
		}
		packages[file.Name.Name].add(file)
		for _, group := range file.Comments {
			comments[path] = append(comments[path], group.Text())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, texts := range comments {
		for _, text := range texts {
			for _, m := range qualified.FindAllStringSubmatch(text, -1) {
				names := packages[m[1]]
				if names == nil {
					continue
				}
				name := m[2]
				if !names[name] {
					t.Errorf("%s: a comment names %s.%s, which does not exist, want names[name] true", path, m[1], name)
				} else if member := m[3] + m[4]; member != "" && !names[name+"."+member] {
					t.Errorf("%s: a comment names %s.%s.%s, which does not exist, want none", path, m[1], name, member)
				}
			}
		}
	}
}

func (d declared) add(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				d[decl.Name.Name] = true
				continue
			}
			of := decl.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if index, ok := of.(*ast.IndexExpr); ok {
				of = index.X
			}
			if name, ok := of.(*ast.Ident); ok {
				d[name.Name+"."+decl.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				d.addSpec(spec)
			}
		}
	}
}

func (d declared) addSpec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			d[name.Name] = true
		}
	case *ast.TypeSpec:
		d[spec.Name.Name] = true
		var fields *ast.FieldList
		switch kind := spec.Type.(type) {
		case *ast.StructType:
			fields = kind.Fields
		case *ast.InterfaceType:
			fields = kind.Methods
		default:
			return
		}
		for _, field := range fields.List {
			for _, name := range field.Names {
				d[spec.Name.Name+"."+name.Name] = true
			}
		}
	}
}
