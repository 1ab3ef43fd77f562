package weights

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// TestGate: a gate is closed until its weights are there, and a dead holder opens it with nothing.
func TestGate(t *testing.T) {
	list := []Weight{{Name: "a", Target: "/t"}, {Name: "b", Line: 7}, {Name: "c"}}
	g := assert.Must(NewGate(t.TempDir(), list))(t)
	locked := func(name string) bool {
		f := assert.Must(os.Open(filepath.Join(g.Folder(), name)))(t)
		defer f.Close()
		return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
	}
	assert.True(t, locked("a") && locked("b"), "open before the weights are there")
	g.Open(&list[0], nil)
	g.Open(&list[1], &Error{"b", 7, errors.New("gone")})
	assert.True(t, !locked("a") && !locked("b") && locked("c"), "got another gate")
	for name, want := range map[string]string{"a": `{"path":"/t"}`, "b": `{"error":"gone","line":7}`, "c": ""} {
		text := string(assert.Must(os.ReadFile(filepath.Join(g.Folder(), name)))(t))
		assert.Equal(t, name, text, want)
	}
	g.Close()
	assert.False(t, isThere(g.Folder()), "the folder is there still")
}
