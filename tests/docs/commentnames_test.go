package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
)

// describing are verbs with which the comment of a declaration goes on after the name.
var describing = []string{"is", "are", "returns", "reports", "has", "makes", "reads", "writes", "says", "waits", "sets"}

// documented returns the names of each documented declaration of a file, by its comment.
func documented(file *ast.File) map[*ast.CommentGroup][]string {
	docs := map[*ast.CommentGroup][]string{}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			docs[decl.Doc] = []string{decl.Name.Name}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					docs[spec.Doc] = []string{spec.Name.Name}
					if spec.Doc == nil && len(decl.Specs) == 1 {
						docs[decl.Doc] = []string{spec.Name.Name}
					}
				case *ast.ValueSpec:
					doc := spec.Doc
					if doc == nil && len(decl.Specs) == 1 {
						doc = decl.Doc
					}
					for _, name := range spec.Names {
						docs[doc] = append(docs[doc], name.Name)
					}
				}
			}
		}
	}
	delete(docs, nil)
	return docs
}

// TestComments_BeginWithTheName: the comment of a declaration names that declaration, not one that was renamed.
func TestComments_BeginWithTheName(t *testing.T) {
	t.Parallel()
	for path, file := range goFiles(t) {
		for doc, names := range documented(file) {
			words := strings.Fields(doc.Text())
			if len(words) < 2 || slices.Contains(names, words[0]) {
				continue
			}
			if slices.Contains(describing, words[1]) && token.IsIdentifier(words[0]) || strings.EqualFold(words[0], names[0]) {
				t.Errorf("%s: the comment of %v begins with %q, want the name", path, names, words[0]+" "+words[1])
			}
		}
	}
}

// member is a field or method in a comment, such as Options.Memory.
var member = regexp.MustCompile(`(?:^|[^.\w])([A-Z][A-Za-z0-9]*)\.([A-Z][A-Za-z0-9]*)`)

// TestComments_NameMembersThatExist: a comment that names a field or method of a type of ours is true.
func TestComments_NameMembersThatExist(t *testing.T) {
	t.Parallel()
	all := declared{}
	files := goFiles(t)
	for _, file := range files {
		all.add(file)
	}
	for path, file := range files {
		for _, group := range file.Comments {
			for _, m := range member.FindAllStringSubmatch(group.Text(), -1) {
				if all[m[1]] && !all[m[1]+"."+m[2]] && !all[m[1]+".*"] {
					t.Errorf("%s: a comment names %s.%s, want a field or method of %s", path, m[1], m[2], m[1])
				}
			}
		}
	}
}

// sources are the Go files of this module that we write, parsed once for all tests.
var sources = sync.OnceValues(func() (map[string]*ast.File, error) {
	files := map[string]*ast.File{}
	const root = ".."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".pb.go") { // protoc writes those
			files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		}
		return err
	})
	return files, err
})

// goFiles returns sources.
func goFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	return assert.Must(sources())(t)
}
