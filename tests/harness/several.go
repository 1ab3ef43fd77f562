package harness

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// SeveralModel says which model, Python and process it is, and gets into trouble.
const SeveralModel = `
import os, sys
from cog import BaseRunner

class Runner(BaseRunner):
    def setup(self) -> None:
        if os.path.exists("broken.txt"):
            raise RuntimeError("it cannot be set up today")

    def run(self, text: str = "", gate: str = "", die: bool = False) -> str:
        if gate:
            print("waiting", gate, flush=True)
            with open(gate) as file:  # a named pipe: opens when the test does
                file.read()
        if die:
            os.abort()
        return f"{os.path.basename(os.getcwd())} 3.{sys.version_info.minor} {os.getpid()} {text}"
`

// ModelFolders makes folders of models in one folder, each with a virtual environment of a Python. It returns their
// arguments.
func ModelFolders(t testing.TB, pythons map[string]Python) (dir string, arguments []string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(pythons)) {
		model := filepath.Join(dir, name)
		WriteFile(t, filepath.Join(model, "run.py"), SeveralModel)
		environment := filepath.Dir(filepath.Dir(Venv(t, pythons[name])))
		assert.NoError(t, os.Symlink(environment, filepath.Join(model, ".venv")))
		arguments = append(arguments, name+"="+model)
	}
	return dir, arguments
}

// StartTwoModels serves model a, the default, and model b, on the oldest and the newest Python.
func StartTwoModels(t testing.TB, arguments ...string) (s *Server, dir string) {
	t.Helper()
	dir, models := ModelFolders(t, map[string]Python{"a": OldestPython(t), "b": NewestPython(t)})
	s = Start(t, Options{Dir: dir, Models: models, Args: arguments})
	WaitModels(t, s)
	return s, dir
}

// WaitModels waits until the first setups have ended.
func WaitModels(t testing.TB, s *Server) {
	t.Helper()
	assert.Eventually(t, "the server is ready",
		func() bool { return s.Do(http.MethodGet, "/readyz", nil).Code == http.StatusOK })
}

// PredictBy runs a prediction of a model; "" means at the root.
func PredictBy(s *Server, model string, in Input) Answer {
	path := "/predictions"
	if model != "" {
		path = "/models/" + model + path
	}
	return s.Do(http.MethodPost, path, map[string]any{"input": in})
}

// SaidBy returns what a model answered: which one it is, its Python, its process, and the text.
func SaidBy(t testing.TB, a Answer) (model, python, pid, text string) {
	t.Helper()
	assert.EqualNow(t, a.String(), a.Status, "succeeded")
	words := strings.SplitN(a.Text(t), " ", 4)
	return words[0], words[1], words[2], words[3]
}

// Decode reads the whole answer.
func Decode(t testing.TB, a Answer, to any) {
	t.Helper()
	FromJSON(t, a.Body, to)
}
