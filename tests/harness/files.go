package harness

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
)

// NewFolder returns a new folder with these files: name, text, name, text ….
func NewFolder(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i+1 < len(files); i += 2 {
		WriteFile(t, filepath.Join(dir, files[i]), files[i+1])
	}
	return dir
}

// CopyFile copies a program to a path where there is none.
func CopyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	assert.NoError(t, err)
	defer in.Close()
	out := assert.Must(os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755))(t)
	if _, err = io.Copy(out, in); err == nil {
		err = out.Close()
	}
	assert.NoError(t, err)
}

// MakeFIFO makes a named pipe in a model's folder, at which the model waits, and returns what lets it go on.
func MakeFIFO(t testing.TB, dir, name string) (open func()) {
	t.Helper()
	path := filepath.Join(dir, name)
	assert.NoError(t, syscall.Mkfifo(path, 0o600))
	return func() {
		t.Helper()
		// Opening it fails until a process reads it; closing it ends that read.
		assert.Eventually(t, "the model waits at "+name, func() bool { return OpenFIFO(path) })
	}
}

// OpenFIFO ends the reads of a named pipe that are waiting now; false means there is no reader.
func OpenFIFO(path string) bool {
	file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		file.Close()
	}
	return err == nil
}

// ModelLines reads a file that a model wrote.
func ModelLines(t testing.TB, s *Server, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// ReadFile returns the text of a file.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	text := assert.Must(os.ReadFile(path))(t)
	return string(text)
}

// WriteFile writes a file, and makes its folder.
func WriteFile[T string | []byte](t testing.TB, path string, text T) {
	t.Helper()
	assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// Absolute returns a path from the root.
func Absolute(t testing.TB, path string) string {
	t.Helper()
	return assert.Must(filepath.Abs(path))(t)
}
