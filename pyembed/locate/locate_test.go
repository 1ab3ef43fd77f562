package locate

import "testing"

// TestLocate_Interpreter: an interpreter that lacks its shared library does for a program that only runs it; one that
// Pinion's Python code cannot run on does not.
func TestLocate_Interpreter(t *testing.T) {
	w := newWorld(t)
	bare := w.file("bin/python3", answer("version=3.12", "implementation=cpython", "instsoname=libpython3.12.a"), 0o755)
	if _, err := w.find(Options{Python: bare}); err == nil {
		t.Fatal("there is a library after all")
	}
	got, err := plain(w, bare)
	if err != nil || got.Executable != bare || got.Version != "3.12" || got.LibPython != "" || got.Source != "--python" {
		t.Errorf(`got %+v, %v, want Executable %q, Version 3.12, LibPython empty and Source "--python"`, got, err, bare)
	}
	old := w.file("old/python3", answer("version=3.9", "implementation=cpython"), 0o755)
	got, err = plain(w, old)
	wantError(t, got, err, ErrTooOld, "Python 3.9")
	got, err = plain(w, w.path("none"))
	wantError(t, got, err, ErrNoPython, "does not exist")
}

func plain(w *world, python string) (*Python, error) {
	o := Options{Python: python, Dir: w.path("model"), Env: func(name string) string { return w.vars[name] }}
	p, _, err := newFinder(o, w.host).chosen(o)
	return p, err
}
