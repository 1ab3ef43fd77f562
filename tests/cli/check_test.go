package cli

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestCheck_CLICheckFindsEveryMistake(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		files []string
		args  []string
		want  []string
	}{
		{
			"YAML and signature",
			[]string{
				"cog.yaml", "rn: run.py:run\nenvironment:\n  - A=1\n  - B\n",
				"run.py", "from cog import Input\ndef run(\n    a: bytes,\n    b,\n    c: int = Input(default=5, le=3),\n) -> int: ...\n",
			},
			nil,
			[]string{
				`cog.yaml:1: unknown key "rn"`, `did you mean "run"?`, `cog.yaml:4: environment: "B" is not NAME=value`,
				`run.py:3: parameter "a" of run: bytes is not supported`, "use cog.Path for binary data",
				`run.py:4: parameter "b" of run: it has no type`, `run.py:5: parameter "c" of run: the default 5 is greater`,
				"5 problems in",
			},
		},
		{"no YAML", []string{"cog.yaml", "run: [\n"}, nil, []string{"cog.yaml:1: ", "fix the YAML", "1 problem in"}},
		{"keys twice", []string{
			"cog.yaml", "run: run.py:run\nbuild:\n  gpu: false\n  gpu: true\nrun: run.py:run\n", "run.py",
			"def run() -> int: ...\n",
		}, nil, []string{
			`cog.yaml:4: build: "gpu" is given twice, first in line 3`, `cog.yaml:5: "run" is given twice, first in line 1`,
			"2 problems in",
		}},
		{"values", []string{
			"cog.yaml", "run: run.py:run\nconcurrency: 4\nenvironment:\n  A: b\n", "run.py",
			"def run(a: bytes) -> int: ...\n",
		}, nil, []string{
			"cog.yaml:2: concurrency is a number: must be a mapping",
			"cog.yaml:4: environment is a mapping: must be a list",
			"run.py:1: parameter \"a\" of run", "3 problems in",
		}},
		{
			"no file",
			[]string{"cog.yaml", "\nrun: gone.py:Runner\n"},
			nil,
			[]string{"cog.yaml:2: run: file gone.py does not exist"},
		},
		{"no class", []string{"cog.yaml", "run: run.py:Runner\n", "run.py", "def run() -> int: ...\n"}, nil, []string{
			`cog.yaml:1: run.py has no "Runner"`, "it defines run",
		}},
		{"no model", nil, nil, []string{"names no predictor"}},
		{"syntax", []string{"run.py", "\ndef run(:\n"}, nil, []string{"run.py:2: SyntaxError", "correct the line"}},
		{"package", []string{"run.py", "import not_there\n"}, nil, []string{
			"run.py:1: ModuleNotFoundError: No module named 'not_there'", "pip install ",
		}},
		{"import", []string{"run.py", "1 / 0\n"}, nil, []string{"Traceback", "run.py:1: ZeroDivisionError"}},
		{
			"concurrency",
			[]string{"cog.yaml", "run: run.py:run\nconcurrency:\n  max: 400\n", "run.py", "def run() -> int: ...\n"},
			nil,
			[]string{"run.py:1: a concurrency of 400 is too high for run", "at most 256", "write `async def`"},
		},
		{
			"schema",
			[]string{"run.py", "def run() -> int: ...\n", ".cog/openapi_schema.json", "[]"},
			nil,
			[]string{".cog/openapi_schema.json: ", "it holds no JSON object"},
		},
		{
			"setup",
			[]string{
				"run.py",
				"class Runner:\n    def setup(self):\n        raise RuntimeError('no weights')\n    def run(self) -> int: ...\n",
			},
			[]string{"--setup"},
			[]string{"setup failed: RuntimeError: no weights"},
		},
		{
			"health",
			[]string{
				"run.py",
				"class Runner:\n    def healthcheck(self):\n        return False\n    def run(self) -> int: ...\n",
			},
			[]string{"--setup"},
			[]string{"the model's healthcheck: "},
		},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := harness.CLI{Dir: harness.NewFolder(t, test.files...)}.Run(t, append([]string{"check"}, test.args...)...)
			assert.Equal(t, "it ended with", got.Code, 1)
			assert.Contains(t, "stdout", got.Stdout, test.want...)
		})
	}
}

func TestCLICheck_OfGoodModelInEachPython(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		c := harness.CLI{Python: python.Path, Dir: harness.Example(t, "hello")}
		assert.Contains(t, "stdout", c.Good(t, "check"), "no problem: run.py:Runner loads with Python 3.")
		assert.Contains(t, "stdout", c.Good(t, "check", "--setup"),
			"no problem: run.py:Runner loads and sets up with Python 3.")
	})
}

func TestCheck_CLICheckForPrograms(t *testing.T) {
	t.Parallel()
	type found struct {
		Problems []struct{ File, What, Fix string }
		Inputs   []string
	}
	read := func(text string) (f found) {
		t.Helper()
		harness.FromJSON(t, text, &f)
		return f
	}
	good := read(harness.CLI{Dir: harness.Example(t, "hello")}.Good(t, "check", "--json"))
	assert.True(t, good.Problems != nil && len(good.Problems) == 0 && strings.Join(good.Inputs, " ") == "name",
		"a good model gives %+v, want Problems non-nil, len(Problems) empty and Join name", good)
	bad := read(harness.CLI{Dir: harness.NewFolder(t, "run.py", "def run(a: bytes) -> int: ...\n")}.Run(t, "check",
		"--json").Stdout)
	assert.True(t, len(bad.Problems) == 1 && bad.Problems[0].File == "run.py" && bad.Problems[0].Fix != "",
		"a bad one gives %+v, want len(Problems) 1, File run.py and Fix non-empty", bad)
}

func TestCLICheck_OfPythonThatIsNotThere(t *testing.T) {
	t.Parallel()
	got := harness.CLI{Dir: harness.Example(t, "hello"), Python: "/nowhere/python"}.Run(t, "check")
	assert.Equal(t, "it ended with", got.Code, 1)
	assert.Contains(t, "stdout", got.Stdout, "PINION_PYTHON names /nowhere/python", "give the path of a Python")
}

// TestCheck_NamesPackageThatHoldsModule also where the folder has no requirements file.
func TestCheck_NamesPackageThatHoldsModule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ module, file, want string }{
		{"skimage.io", "", "install scikit-image, as with `"},
		{"fitz", "", "install PyMuPDF, as with `"},
		{"fitz", "packaging\n", "add PyMuPDF to requirements.txt and install it, as with `"},
		{"fitz", "pymupdf>=1\n", "install what requirements.txt lists, as with `"},
	} {
		files := []string{"run.py", "import " + c.module + "\ndef run() -> str: ...\n"}
		if c.file != "" {
			files = append(files, "requirements.txt", c.file)
		}
		got := harness.CLI{Dir: harness.NewFolder(t, files...)}.Run(t, "check")
		assert.Equal(t, "exit code", got.Code, 1)
		assert.Contains(t, "import "+c.module+" with requirements "+c.file, got.Stdout, "run.py:1: ", c.want)
	}
}

// TestCheck_NamesPackageOfNamespace by the import that failed, and so does the log of a server.
func TestCheck_NamesPackageOfNamespace(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", "from google.cloud import (\n    vision,\n)\ndef run() -> str: ...\n",
		"pyproject.toml", "[project]\ndependencies = []\n")
	const want = "add google-cloud-vision to pyproject.toml and install it, as with `"
	assert.Contains(t, "the problem", harness.CLI{Dir: dir}.Bad(t, 1, "predict"), want)
	s := harness.Start(t, harness.Options{Dir: dir})
	assert.Eventually(t, "the log has the fix", func() bool {
		line, ok := s.Log.First(func(l harness.Line) bool { return l.Text == "setup failed" })
		return ok && strings.Contains(line.Raw, want)
	})
}

// TestCheck_DoesNotWarnAboutAny: nor does the server.
func TestCheck_DoesNotWarnAboutAny(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", "from typing import Any\ndef run(a: Any) -> Any:\n    return {\"a\": a}\n")
	got := harness.CLI{Dir: dir}.Run(t, "check")
	assert.Equal(t, "exit code", got.Code, 0)
	if text := got.Stdout + got.Stderr; strings.Contains(text, "warning") || !strings.Contains(text, "no problem") {
		t.Errorf("got %q, want no problem and no warning", text)
	}
	s := harness.Ready(t, harness.Options{Dir: dir})
	for _, line := range s.Log.Lines() {
		assert.True(t, line.Level != "WARN" && line.Level != "ERROR", "got %s in the log, want no warning", line.Raw)
	}
}

// What build: asks for and this machine does not have is warned of, with the line and a remedy: an image would have it.
func TestCLICheck_ComparesMachine(t *testing.T) {
	t.Parallel()
	const file = `run: run.py:run
build:
  gpu: true
  python_version: "3.9"
  system_packages:
    - "bash"
    - "no-such-package-anywhere=1.2"
  python_requirements: requirements.txt
`
	const requirements = `--extra-index-url https://example.com/simple
packaging>=1  # met
packaging==0.0.1
No_Such.Package[extra]>=2 ; python_version >= "3"
no-such-package; python_version < "3"
git+https://example.com/no-such-package
cog==0.1
-r more.txt
`
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		dir := harness.NewFolder(t, "cog.yaml", file, "run.py", "def run() -> int: ...\n", "requirements.txt", requirements,
			"more.txt",
			"\nno-such-package\n")
		c := harness.CLI{Python: python.Path, Dir: dir, Env: []string{"CUDA_VISIBLE_DEVICES="}}
		got := c.Good(t, "check")
		assert.Contains(t, "the versions", got, "warning: cog.yaml:3: build.gpu is true, but no GPU is visible here",
			"warning: cog.yaml:4: build.python_version is 3.9, but the interpreter is Python 3.", "choose another with --python",
			"warning: requirements.txt:3: packaging ", " is installed, but packaging==0.0.1 is required", "packaging==0.0.1`",
			"warning: requirements.txt:4: No_Such.Package is not installed",
			"warning: more.txt:2: no-such-package is not installed", " no-such-package`", "no problem and ")
		count := 5
		if _, err := exec.LookPath("dpkg-query"); err == nil {
			count++
			assert.Contains(t, "the packages", got,
				"warning: cog.yaml:7: build.system_packages: no-such-package-anywhere is not installed",
				"apt-get install no-such-package-anywhere")
		}
		assert.Equal(t, "warnings", strings.Count(got, "warning: "), count)

		good := strings.NewReplacer(`"3.9"`, fmt.Sprintf(`"3.%d"`, python.Minor), "gpu: true", "gpu: false",
			`    - "no-such-package-anywhere=1.2"`+"\n", "", "  python_requirements: requirements.txt",
			"  python_packages: [packaging, 'no-such-package==1']").Replace(file)
		c.Dir = harness.NewFolder(t, "cog.yaml", good, "run.py", "def run() -> int: ...\n")
		got = c.Good(t, "check")
		assert.Contains(t, "the other", got, "warning: cog.yaml:7: build.python_packages: no-such-package is not installed",
			"no problem and 1 warning")
	})
}
