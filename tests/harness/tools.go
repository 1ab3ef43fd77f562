package harness

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// ToJSON returns a value as JSON.
func ToJSON(t *testing.T, v any) []byte {
	t.Helper()
	return assert.Must(json.Marshal(v))(t)
}

// FreeAddress returns an address where no server listens.
func FreeAddress(t *testing.T) string {
	t.Helper()
	l := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// Host returns a server's address without a scheme.
func Host(s *Server) string { return strings.TrimPrefix(s.Address, "http://") }

// SharedLibrary compiles a shared library, and skips the test where there is no compiler.
func SharedLibrary(t *testing.T, name, source string) string {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("there is no C compiler")
	}
	library := filepath.Join(t.TempDir(), name)
	out, err := exec.Command("cc", "-shared", "-fPIC", "-Wl,-soname,"+name, "-o", library, source).CombinedOutput()
	assert.NoError(t, err, out)
	return library
}

// Example copies a folder of examples, so that nothing is written there.
func Example(t *testing.T, name string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), name)
	assert.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Join("..", "examples", name))))
	return folder
}

// SilentServer returns the URL of a server that accepts connections and never answers.
func SilentServer(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and no process reads
	assert.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	return "http://" + ln.Addr().String() + "/"
}
