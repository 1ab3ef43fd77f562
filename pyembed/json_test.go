//go:build pinion_test

package pyembed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
)

// testBridge is the one interpreter of this test process, started by the first test that wants it.
var testBridge = sync.OnceValues(func() (*jsonBridge, error) {
	library, home, err := testPython()
	if err != nil {
		return nil, err
	}
	return startJSONBridge(library, home)
})

// testPython asks the interpreter of PINION_TEST_PYTHON, or python3 of the PATH, for its libpython and prefix.
func testPython() (library, home string, err error) {
	python := os.Getenv("PINION_TEST_PYTHON")
	if python == "" {
		python = "python3"
	}
	out, err := exec.Command(python, "-c", `import sys, sysconfig
get = sysconfig.get_config_var
print(get("LIBDIR"), get("INSTSONAME"), sys.base_prefix, sep="\n")`).Output()
	if err != nil {
		return "", "", err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	library = filepath.Join(lines[0], lines[1])
	if _, err := os.Stat(library); err != nil {
		library = lines[1] // Debian keeps it in a folder of the architecture, which the loader knows
	}
	return library, lines[2], nil
}

func bridge(tb testing.TB) *jsonBridge {
	tb.Helper()
	b, err := testBridge()
	assert.NoError(tb, err, "no interpreter for the tests (PINION_TEST_PYTHON names one")
	return b
}

// check calls a function of the modules in testdata that complains or does not.
func check(t *testing.T, function, data string) {
	t.Helper()
	complaint := assert.Must(bridge(t).call(function, []byte(data)))(t)
	if len(complaint) > 0 {
		t.Errorf("got %q, %d, want none", string(complaint), len(complaint))
	}
}

func TestJSON_Properties(t *testing.T) {
	check(t, "properties", `{"seed": 1, "count": 3000}`)
}

func TestJSON_Floats(t *testing.T) {
	count := 25_000 // the first of those of a full run
	if os.Getenv("PINION_TEST_FULL") != "" {
		count = 100_000
	}
	check(t, "floats", fmt.Sprintf(`{"seed": 1, "count": %d}`, count))
}

func TestJSON_Keys(t *testing.T) {
	check(t, "keys", "")
}

func TestJSON_Borrowed(t *testing.T) {
	check(t, "borrowed", "")
}

func TestJSON_Arrays(t *testing.T) {
	check(t, "arrays", `{"seed": 1, "count": 2000}`)
}

func TestJSON_NoArrays(t *testing.T) {
	check(t, "no_arrays", "")
}

func TestJSON_ArraysElsewhere(t *testing.T) {
	check(t, "places", "")
}

func TestJSON_Tensors(t *testing.T) {
	check(t, "tensors", "")
}

func TestJSON_LongNumbers(t *testing.T) {
	check(t, "long_numbers", "")
}

func TestJSON_NoMemory(t *testing.T) {
	check(t, "no_memory", "")
}

// TestJSON_Speed reports, and judges nothing: PINION_TEST_SPEED=1 go test -run JSONSpeed -v
func TestJSON_Speed(t *testing.T) {
	if os.Getenv("PINION_TEST_SPEED") == "" {
		t.Skip("PINION_TEST_SPEED is not set")
	}
	report := assert.Must(bridge(t).call("speed", nil))(t)
	t.Logf("\n%s", report)
}
