package python3

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// A test binary started with this in its environment is a program that opens
// the library named there: a process can hold one libpython only.
const childVariable = "CPY3_TEST_LIBRARY"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		os.Exit(child(path))
	}
	os.Exit(m.Run())
}

func child(path string) int {
	lib, err := Open(path)
	if err != nil {
		fmt.Println(err)
		return 3
	}
	size := *(*uintptr)(lib.Table())
	fmt.Println(size == unsafe.Sizeof(*lib.api), lib.Py_GetVersion())
	return lib.Py_BytesMain(os.Args[1:])
}

// fakeLibrary compiles C code into a library.
func fakeLibrary(t *testing.T, code string) string {
	t.Helper()
	folder := t.TempDir()
	source, library := filepath.Join(folder, "fake.c"), filepath.Join(folder, "libfake.so")
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%s: got %v, want no error\n%s", cc, err, out)
	}
	return library
}

func version(text string) string {
	return fmt.Sprintf("const char *Py_GetVersion(void) { return %q; }\n", text)
}

func TestLibrary_OpenRefuses(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Types as a build with another head of PyObject has them.
	const shifted = "struct t { long a, b; void *type; } PyType_Type = {1, 2, &PyType_Type}, PyUnicode_Type = {1, 2, &PyType_Type};\n"
	const free = "struct t { long a, b, c; void *type; } PyType_Type = {1, 2, 3, &PyType_Type}, PyUnicode_Type = {1, 2, 3, &PyType_Type};\n"
	const usual = "struct t { long n; void *type; } PyType_Type = {1, &PyType_Type}, PyUnicode_Type = {1, &PyType_Type};\n"

	cases := []struct {
		name, path string
		want       error
		says       string
	}{
		{"no path", "", ErrPath, `""`},
		{"NUL in the path", "lib\x00python.so", ErrPath, `\x00`},
		{"no such file", "/nonexistent/libpython3.12.so", ErrNoLibrary, "/nonexistent/libpython3.12.so"},
		{"no library", text, ErrNoLibrary, text},
		{"another library", fakeLibrary(t, "int nothing;\n"), ErrNotPython, "it has no Py_GetVersion"},
		{"version unknown", fakeLibrary(t, version("PyPy")), ErrNotPython, "its version is PyPy"},
		{"Python 2", fakeLibrary(t, version("2.7.18 (default)")), ErrTooOld, "CPython 2.7.18: CPython 3.10 or newer"},
		{"3.9", fakeLibrary(t, version("3.9.18 (main, Jan 1 2024)")), ErrTooOld, "CPython 3.9.18"},
		{
			"free-threaded 3.13", fakeLibrary(t, usual+version("3.13.0 experimental free-threading build (main)")),
			ErrFreeThreaded, "CPython 3.13.0: free-threaded",
		},
		{
			"free-threaded 3.13 by symbol", fakeLibrary(t, usual+version("3.13.0")+"void _Py_MergeZeroLocalRefcount(void) {}\n"),
			ErrFreeThreaded, "3.13.0",
		},
		{
			"free-threaded, another layout", fakeLibrary(t, usual+version("3.14.0 free-threading build (main)")), ErrLayout,
			"CPython 3.14.0",
		},
		{
			"free-threaded 3.14", fakeLibrary(t, free+version("3.14.0 free-threading build (main)")), ErrMissingSymbol,
			"Py_BytesMain",
		},
		{
			"free-threaded by symbol", fakeLibrary(t, free+version("3.15.0")+"void _Py_MergeZeroLocalRefcount(void) {}\n"),
			ErrMissingSymbol, "Py_BytesMain",
		},
		{"another layout", fakeLibrary(t, shifted+version("3.12.1 (main)")), ErrLayout, "CPython 3.12.1"},
		{"a symbol missing", fakeLibrary(t, usual+version("3.12.1 (main)")), ErrMissingSymbol, "Py_BytesMain"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			lib, err := Open(c.path)
			if lib != nil || !errors.Is(err, c.want) {
				t.Fatalf("Open = %v, %v; want %v", lib, err, c.want)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %q, want it with %q", err, c.says)
			}
		})
	}
}

// TestLibrary_Open opens the libpython of PINION_TEST_PYTHON, or of python3 in the PATH, and runs Python by it.
func TestLibrary_Open(t *testing.T) {
	python := os.Getenv("PINION_TEST_PYTHON")
	if python == "" {
		python = "python3"
	}
	out, err := exec.Command(python, "-c", `import sys, sysconfig
get = sysconfig.get_config_var
print(get("LIBDIR"), get("INSTSONAME"), sys.executable, sys.version, sep="\n")`).Output()
	if err != nil {
		t.Fatalf("ask %s for its library: got %v, want no error", python, err)
	}
	lines := strings.SplitN(strings.TrimSpace(string(out)), "\n", 4)
	library := filepath.Join(lines[0], lines[1])
	if _, err := os.Stat(library); err != nil {
		library = lines[1] // Debian: in the loader's path, not in LIBDIR
	}

	cmd := exec.Command(os.Args[0], lines[2], "-c",
		"import sys, json, ssl, ctypes; print(sys.executable, sys.argv[1]); sys.exit(7)", "ä b")
	cmd.Env = append(os.Environ(), childVariable+"="+library)
	answer, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Fatalf("got %v, want exit code 7\n%s", err, answer)
	}
	want := fmt.Sprintf("true %s\n%s ä b\n", lines[3], lines[2])
	if string(answer) != want {
		t.Errorf("got  %q\nwant %q", answer, want)
	}
}
