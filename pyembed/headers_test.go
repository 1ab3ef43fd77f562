package pyembed

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// declaration matches a function or a variable of a header that a C file defines. Functions that are inline are not
// followed by a semicolon.
var declaration = regexp.MustCompile(`(?m)^(?:extern |_Noreturn )?[A-Za-z][\w ]*[ *](px_\w+)(?:\([^{}]*?\))?(?:\[\])?;`)

// TestHeaders_DeclareOneFile: what a header declares is in the C file of its name, so that the includes of a file say
// what it needs.
func TestHeaders_DeclareOneFile(t *testing.T) {
	headers, err := filepath.Glob("*.h")
	if err != nil || len(headers) == 0 {
		t.Fatalf("got %d headers, %v, want some", len(headers), err)
	}
	aside, found := regexp.MustCompile(`(?m)//.*|^typedef .*|^struct px_\w+;`), 0 // comments, and declarations of types
	for _, header := range headers {
		text := assert.Must(os.ReadFile(header))(t)
		file := strings.TrimSuffix(header, ".h") + ".c"
		code, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, m := range declaration.FindAllSubmatch(aside.ReplaceAll(text, nil), -1) {
			found++
			definition := regexp.MustCompile(`(?m)^[A-Za-z_].*\b` + string(m[1]) + `(?:\(|\[\] =| =|;)`)
			if !definition.Match(code) {
				t.Errorf("%s declares %s, want its definition in %s", header, m[1], file)
			}
		}
	}
	if found < 150 {
		t.Errorf("got %d declarations, want them all", found)
	}
}
