package docs

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// declared are the names of packages: their own, "Type.Member" for fields and methods, and "Type.*" for a type that has
// those of others too.
type declared map[string]bool

// qualified is a name of another package in a comment, as httpd.Options or httpd.Options{Queue: m.
var qualified = regexp.MustCompile(
	`\b([a-z][a-z0-9]+)\.([A-Z][A-Za-z0-9]*)(?:\{([A-Z][A-Za-z0-9]*):|\.([A-Z][A-Za-z0-9]*))?`)

// TestComments_NameWhatExists: a comment that names something of another package of ours is true.
func TestComments_NameWhatExists(t *testing.T) {
	t.Parallel()
	packages, comments := map[string]declared{}, map[string][]string{}
	for path, file := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if packages[file.Name.Name] == nil {
			packages[file.Name.Name] = declared{}
		}
		packages[file.Name.Name].add(file)
		for _, group := range file.Comments {
			comments[path] = append(comments[path], group.Text())
		}
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
					t.Errorf("%s: a comment names %s.%s.%s, which does not exist", path, m[1], name, member)
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
			if len(field.Names) == 0 {
				d[spec.Name.Name+".*"] = true
			}
			for _, name := range field.Names {
				d[spec.Name.Name+"."+name.Name] = true
			}
		}
	}
}
