package tests

import (
	"encoding/json"
	"strings"
	"testing"

	"pinion/tests/harness"
)

func TestCLICheckFindsEveryMistake(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		files []string
		args  []string
		want  []string
	}{
		{"YAML and signature", []string{"cog.yaml", "rn: run.py:run\nenvironment:\n  - A=1\n  - B\n",
			"run.py", "from cog import Input\ndef run(\n    a: bytes,\n    b,\n    c: int = Input(default=5, le=3),\n) -> int: ...\n"},
			nil, []string{
				`cog.yaml:1: "rn" is no key that is known`, `write "run"`, `cog.yaml:4: environment: "B" is not NAME=value`,
				`run.py:3: parameter "a" of run: bytes is not supported`, "use cog.Path for binary data",
				`run.py:4: parameter "b" of run: it has no type`, `run.py:5: parameter "c" of run: the default 5 is greater`,
				"5 problems in",
			}},
		{"no YAML", []string{"cog.yaml", "run: [\n"}, nil, []string{"cog.yaml:1: ", "mend the YAML", "1 problem in"}},
		{"no file", []string{"cog.yaml", "\nrun: gone.py:Runner\n"}, nil, []string{"cog.yaml:2: run: there is no file gone.py"}},
		{"no class", []string{"cog.yaml", "run: run.py:Runner\n", "run.py", "def run() -> int: ...\n"}, nil, []string{
			`cog.yaml:1: run.py has no "Runner"`, "it defines run"}},
		{"no model", nil, nil, []string{"names no predictor"}},
		{"syntax", []string{"run.py", "\ndef run(:\n"}, nil, []string{"run.py:2: SyntaxError", "correct the line"}},
		{"package", []string{"run.py", "import not_there\n"}, nil, []string{
			"run.py:1: ModuleNotFoundError: No module named 'not_there'", "-m pip install not_there"}},
		{"import", []string{"run.py", "1 / 0\n"}, nil, []string{"Traceback", "run.py:1: ZeroDivisionError"}},
		{"concurrency", []string{"cog.yaml", "run: run.py:run\nconcurrency:\n  max: 4\n", "run.py", "def run() -> int: ...\n"}, nil,
			[]string{"run.py:1: a concurrency of 4 needs an async function", "write `async def`"}},
		{"schema", []string{"run.py", "def run() -> int: ...\n", ".cog/openapi_schema.json", "[]"}, nil,
			[]string{".cog/openapi_schema.json: ", "it holds no JSON object"}},
		{"setup", []string{"run.py", "class Runner:\n    def setup(self):\n        raise RuntimeError('no weights')\n    def run(self) -> int: ...\n"},
			[]string{"--setup"}, []string{"setup failed: RuntimeError: no weights"}},
		{"health", []string{"run.py", "class Runner:\n    def healthcheck(self):\n        return False\n    def run(self) -> int: ...\n"},
			[]string{"--setup"}, []string{"the model's healthcheck: "}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := cli{dir: folder(t, test.files...)}.run(t, append([]string{"check"}, test.args...)...)
			if got.code != 1 {
				t.Errorf("it ended with %d", got.code)
			}
			wantText(t, "stdout", got.stdout, test.want...)
		})
	}
}

func TestCLICheckOfAGoodModelInEachPython(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		c := cli{python: python.Path, dir: example(t, "hello")}
		wantText(t, "stdout", c.good(t, "check"), "no problem: run.py:Runner loads with Python 3.")
		wantText(t, "stdout", c.good(t, "check", "--setup"), "no problem: run.py:Runner loads and sets up with Python 3.")
	})
}

func TestCLICheckForPrograms(t *testing.T) {
	t.Parallel()
	type found struct {
		Problems []struct{ File, What, Mend string }
		Inputs   []string
	}
	read := func(text string) (f found) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return f
	}
	good := read(cli{dir: example(t, "hello")}.good(t, "check", "--json"))
	if good.Problems == nil || len(good.Problems) != 0 || strings.Join(good.Inputs, " ") != "name" {
		t.Errorf("a good model gives %+v", good)
	}
	bad := read(cli{dir: folder(t, "run.py", "def run(a: bytes) -> int: ...\n")}.run(t, "check", "--json").stdout)
	if len(bad.Problems) != 1 || bad.Problems[0].File != "run.py" || bad.Problems[0].Mend == "" {
		t.Errorf("a bad one gives %+v", bad)
	}
}

func TestCLICheckOfAPythonThatIsNotThere(t *testing.T) {
	t.Parallel()
	got := cli{dir: example(t, "hello"), python: "/nowhere/python"}.run(t, "check")
	if got.code != 1 {
		t.Errorf("it ended with %d", got.code)
	}
	wantText(t, "stdout", got.stdout, "PINION_PYTHON names /nowhere/python", "give the path of a Python")
}
