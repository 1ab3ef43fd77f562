package workers

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// eachFreeThreaded runs a test once for every build without a GIL.
func eachFreeThreaded(t *testing.T, test func(t *testing.T, python harness.Python)) {
	t.Helper()
	for _, python := range harness.FreeThreadedPythons(t) {
		t.Run(python.Name(), func(t *testing.T) {
			t.Parallel()
			test(t, python)
		})
	}
}

func TestFreeThreaded_WorkerLeavesGILOff(t *testing.T) {
	t.Parallel()
	eachFreeThreaded(t, func(t *testing.T, python harness.Python) {
		for _, args := range [][]string{nil, {"--concurrency", "4"}, {"--preload"}} {
			s := harness.Ready(t, harness.Options{Python: python.Path, Model: "freethreaded.py", Args: args})
			a := s.Succeed(harness.Input{})
			assert.True(t, string(a.Output) == "false", "%q: the GIL is enabled: %s", args, a)
			assert.Equal(t, fmt.Sprintf("%q", args), countTurnedOn(s), 0)
		}
	})
}

func TestFreeThreaded_CancelEndsEveryKindOfWaiting(t *testing.T) {
	t.Parallel()
	eachFreeThreaded(t, cancelEveryWait)
}

func TestFreeThreaded_CancelEndsEventLoops(t *testing.T) {
	t.Parallel()
	eachFreeThreaded(t, cancelLoops)
}

func TestFreeThreaded_CancelRunsTheCleanUpOfALoop(t *testing.T) {
	t.Parallel()
	eachFreeThreaded(t, cancelTurns)
}

// extension is a module that does not say that it needs no GIL.
const extension = `#include <Python.h>
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "needsgil", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_needsgil(void) { return PyModule_Create(&definition); }
`

func TestFreeThreaded_LogNamesModuleThatTurnsGILOn(t *testing.T) {
	t.Parallel()
	eachFreeThreaded(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{
			Python: python.Path, Model: "freethreaded.py", Args: []string{"--concurrency", "2"},
			Env: []string{"PYTHONPATH=" + compileExtension(t, python)},
		})
		for range 2 {
			a := s.Succeed(harness.Input{"module": "needsgil"})
			assert.True(t, string(a.Output) == "true", "the GIL is off: %s", a)
		}
		assert.Eventually(t, "the log names the module", func() bool { return countTurnedOn(s) > 0 })
		assert.Equal(t, "count of the module in the log", countTurnedOn(s), 1)
	})
}

// countTurnedOn returns how often the log says that needsgil, or another module, has turned the GIL on.
func countTurnedOn(s *harness.Server) int {
	n := 0
	for _, line := range s.Log.Lines() {
		if strings.Contains(line.Text, "has turned the GIL on") {
			n++
		}
	}
	return n
}

// compileExtension returns the folder of the module needsgil.
func compileExtension(t *testing.T, python harness.Python) string {
	t.Helper()
	headers, _ := filepath.Glob(filepath.Join(python.Base, "include/python3.*/Python.h"))
	if len(headers) == 0 {
		t.Skipf("%s has no headers to compile an extension with", python.Base)
	}
	folder := t.TempDir()
	source := filepath.Join(folder, "needsgil.c")
	harness.WriteFile(t, source, extension)
	out, err := exec.CommandContext(t.Context(), "gcc", "-shared", "-fPIC", "-I"+filepath.Dir(headers[0]),
		"-o", strings.TrimSuffix(source, ".c")+".so", source).CombinedOutput()
	assert.NoError(t, err, "compile an extension", out)
	return folder
}

// summing computes in Python; with CALLS it calls another model first.
const summing = `import sys

import cog


class Runner(cog.BaseRunner):
    def run(self, token: str) -> str:
        total = sum(i * i for i in range(20000))
        if "CALLS" in globals():
            token = cog.call(CALLS, token=token)
        return f"{token} {total} {sys._is_gil_enabled()}"
`

// TestFreeThreaded_SeveralModelsAndQueue: two models on threads, of which one calls the other, answer requests and jobs
// of the embedded queue at once, each exactly once.
func TestFreeThreaded_SeveralModelsAndQueue(t *testing.T) {
	t.Parallel()
	eachFreeThreaded(t, func(t *testing.T, python harness.Python) {
		dir := t.TempDir()
		harness.WriteFile(t, filepath.Join(dir, "a/run.py"), summing+"\n\nCALLS = \"b\"\n")
		harness.WriteFile(t, filepath.Join(dir, "b/run.py"), summing)
		s := harness.Start(t, harness.Options{
			Dir: dir, Python: python.Path, Models: []string{"a=" + dir + "/a", "b=" + dir + "/b"},
			Args: []string{"--concurrency", "4", "--queue", "99", "--nats", "embed:" + t.TempDir()},
		})
		harness.WaitModels(t, s)
		const jobs = 24
		answers := map[string]chan harness.Answer{}
		for i := range jobs {
			job, token := fmt.Sprint("job", i), fmt.Sprint("direct", i)
			harness.EnqueueAt(t, s, "ab"[i%2:][:1], job, harness.Input{"token": job})
			answer := make(chan harness.Answer, 1)
			answers[token] = answer
			go func() { answer <- harness.PredictBy(s, "b", harness.Input{"token": token}) }()
		}
		const computed = " 2666466670000 False"
		for token, answer := range answers {
			harness.WantOutput(t, token, <-answer, token+computed)
		}
		for i := range jobs {
			job, model := fmt.Sprint("job", i), "ab"[i%2:][:1]
			want := job + computed
			if model == "a" {
				want += computed // of the model that it has called, and its own
			}
			harness.WantOutput(t, job, harness.WaitStatusAt(t, s, model, job, "succeeded"), want)
		}
	})
}
