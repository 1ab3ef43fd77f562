package pyembed

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// workerEnv makes this test binary a worker: it holds a Config and what the worker's Python reads, as JSON.
const workerEnv = "PINION_TEST_WORKER"

func init() {
	if os.Getenv(workerEnv) != "" {
		runtime.LockOSThread() // init runs on the process's first thread, which is to be Python's
	}
}

// TestMain makes the test binary the worker of its tests.
func TestMain(m *testing.M) {
	config, ok := os.LookupEnv(workerEnv)
	if !ok {
		os.Exit(m.Run())
	}
	os.Unsetenv(workerEnv)
	c := struct{ Python, LibPython, SDK string }{}
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code, err := Main(Config{
		Python: c.Python, LibPython: c.LibPython, SDK: c.SDK, JSON: []byte(config), ControlFD: 3, PageFD: 4,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// workerPython returns the interpreter of the tests, and its library.
func workerPython(t *testing.T) (python, library string) {
	t.Helper()
	python = os.Getenv("PINION_TEST_PYTHON")
	if python == "" {
		python = "python3"
	}
	out, err := exec.Command(python, "-c", `import sys, sysconfig
get = sysconfig.get_config_var
print(sys.executable, get("LIBDIR"), get("INSTSONAME"), sep="\n")`).Output()
	assert.NoError(t, err, "no interpreter for the tests (PINION_TEST_PYTHON names one")
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	library = filepath.Join(lines[1], lines[2])
	if _, err := os.Stat(library); err != nil {
		library = lines[2] // Debian keeps it in a folder of the architecture, which the loader knows
	}
	return lines[0], library
}

// TestWorker_Scripts runs the scripts in testdata, which are the front of a real worker: they speak the protocol over
// real sockets, and raise where the worker does not do what ipc/PROTOCOL.md says.
func TestWorker_Scripts(t *testing.T) {
	python, library := workerPython(t)
	sdk := assert.Must(filepath.Abs("sdk"))(t)
	binary := assert.Must(os.Executable())(t)
	scripts, err := filepath.Glob("testdata/worker_*.py")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("got no scripts: %v, want at least one", err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(script), "worker_"), ".py"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(python, "-B", script, binary, library, sdk)
			cmd.Env = append(os.Environ(), "PINION_TEST_SCRATCH="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("got %v, want no error\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}
