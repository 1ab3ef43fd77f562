package weights

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Gate is a folder with a file for each of the weights, which is locked until the weights are there. A worker waits for
// the lock without asking again and again, and gets it too when this process dies.
type Gate struct {
	folder string
	files  map[string]*os.File
}

// gateFile is the content of a file of the gate: Path, or Error.
type gateFile struct {
	Path  string `json:"path,omitempty"`
	Error string `json:"error,omitempty"`
	Line  int    `json:"line,omitempty"` // of cog.yaml
}

// NewGate makes a gate in a new folder below another.
func NewGate(below string, list []Weight) (_ *Gate, err error) {
	g := &Gate{files: map[string]*os.File{}}
	if g.folder, err = os.MkdirTemp(below, "weights-*"); err != nil {
		return nil, fmt.Errorf("make the gate of the weights: %w", err)
	}
	for _, w := range list {
		f, err := os.OpenFile(filepath.Join(g.folder, w.Name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			g.files[w.Name] = f
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		}
		if err != nil {
			g.Close()
			return nil, fmt.Errorf("make the gate of the weights: %w", err)
		}
	}
	return g, nil
}

// Folder returns where the files are.
func (g *Gate) Folder() string { return g.folder }

// Open says that weights are there, or why they are not.
func (g *Gate) Open(w *Weight, err error) {
	f := g.files[w.Name]
	if f == nil {
		return
	}
	content := gateFile{Path: w.Target}
	if err != nil {
		content = gateFile{Error: err.Error(), Line: w.Line}
		if own, is := errors.AsType[*Error](err); is {
			content.Error = own.Err.Error()
		}
	}
	if data, err := json.Marshal(content); err == nil {
		_, _ = f.Write(data) // a worker takes an empty file for the end of this process
	}
	delete(g.files, w.Name)
	_ = f.Close()
}

// Close removes the gate. Those who wait get an error.
func (g *Gate) Close() {
	for _, f := range g.files {
		_ = f.Close()
	}
	_ = os.RemoveAll(g.folder)
}
