package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
)

// sitecustomize notes which files Python opens and which modules it imports after its own.
const sitecustomize = `import sys

opened = []
before = set(sys.modules)
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
`

// startedModel returns what sitecustomize has noted when the first request comes.
const startedModel = `def run() -> list[str]:
    import sys, sitecustomize
    files = [f"file {name}" for name in sitecustomize.opened]
    if sys.version_info >= (3, 13):
        return ["newer than 3.12"]
    return files + [f"module {name}" for name in sys.modules if name not in sitecustomize.before]
`

// TestFootprint_StartOfWorker lists the modules that a worker's Python imports until its first request, and counts the
// files that it opens.
func TestFootprint_StartOfWorker(t *testing.T) {
	binary := os.Getenv("PINION_BIN")
	python, _, _ := strings.Cut(os.Getenv("PINION_TEST_PYTHONS"), ":")
	if binary == "" || python == "" {
		t.Skip("PINION_BIN or PINION_TEST_PYTHONS names nothing")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sitecustomize.py": sitecustomize, "run.py": startedModel,
		"cog.yaml": "run: run.py:run\n",
	} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	startedWorker(t, binary, python, dir) // the first one compiles
	files := 0
	var got record
	for _, what := range startedWorker(t, binary, python, dir) {
		switch kind, name, _ := strings.Cut(what, " "); kind {
		case "module":
			got = append(got, count{"import of " + name, 1, 0})
		case "file":
			files++
			t.Logf("it opens %s", name)
		default:
			t.Skip("its Python imports more by itself: it is", what)
		}
	}
	got = append(record{{"files opened", files, 0}}, got...)
	got.compare(t, "testdata/worker.txt", 0)
}

// startedWorker starts a server, and returns what its worker says in its first answer, sorted.
func startedWorker(t *testing.T, binary, python, dir string) []string {
	t.Helper()
	socket := filepath.Join(dir, "s")
	front := exec.Command(binary, "serve", dir, "--host", "unix:"+socket, "--python", python, "--log-level", "error")
	front.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=")
	front.Stderr = os.Stderr
	assert.NoError(t, front.Start())
	defer func() {
		_ = front.Process.Signal(syscall.SIGTERM)
		assert.ErrorIs(t, "front.Wait", front.Wait(), nil)
	}()
	c := dial(t, socket)
	defer c.Close()
	c.awaitReady(t)
	const ask = "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"input\":{}}"
	text := string(c.exchange(t, request{[]byte(ask), []byte("}")}))
	_, body, _ := strings.Cut(text, "\r\n\r\n")
	var answer struct{ Output []string }
	err := json.Unmarshal([]byte(body), &answer)
	assert.TrueNow(t, err == nil && len(answer.Output) != 0, "got %s, want a list as output: %v", text, err)
	slices.Sort(answer.Output)
	return answer.Output
}
