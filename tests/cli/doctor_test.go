package cli

import (
	"encoding/json"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestDoctor_Differences: each difference has its file and line; mistakes that keep a model from being built make the
// exit code 1.
func TestDoctor_Differences(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t,
		"cog.yaml", `build:
  fast: true
  python_version: "3.12"
  system_packages: [git]
  python_requirements: requirements.txt
  run:
    - make -C /opt/own
    - cog predict -i a=b
weights:
  - {name: base, source: "https://example.com/w", target: weights}
run: run.py:Runner
`,
		"requirements.txt", "numpy\ncog==0.16.0\n-r more.txt\n", "more.txt", "pyyaml\n",
		"run.py", "import requests\nimport yaml\nfrom cog import BaseRunner\n\n\nclass Runner(BaseRunner):\n    def run(self) -> int:\n        return 1\n",
	)}
	python := harness.AnyPython(t).Path
	out := c.Good(t, "doctor", "--python", python)
	for _, want := range []string{
		"different: cog.yaml:2: build.fast has no effect", "different: cog.yaml:4: packages that these only recommend",
		"different: cog.yaml:7: this command compiles", "different: cog.yaml:8: this command runs Cog",
		"different: cog.yaml:10: weights: base is not part of the image",
		"different: requirements.txt:2: cog is among the packages", "different: run.py:1: requests comes with Cog",
		"0 problems and 7 differences",
	} {
		assert.Contains(t, "it", out, want)
	}
	var report struct {
		Problems, Differences []struct{ File, What, Fix string }
	}
	err := json.Unmarshal([]byte(c.Good(t, "doctor", "--json", "--python", python)), &report)
	assert.True(t, err == nil && len(report.Differences) == 7, "as JSON it is %+v: %v, want 7", report, err)

	c.Dir = harness.NewFolder(t, "cog.yaml", "build:\n  python_version: '3.8'\n  gpuu: true\nrun: run.py:Runner\n",
		"run.py",
		"class Runner:\n    def run(self) -> int: ...\n")
	got := c.Run(t, "doctor", "--python", python)
	assert.Equal(t, "it ended with", got.Code, 1)
	assert.Contains(t, "an old Python", got.Stdout, "cog.yaml:2: build.python_version: Python 3.8 is too old",
		`cog.yaml:3: build: unknown key "gpuu"`, `did you mean "gpu"?`, "2 problems and 0 differences")
	assert.Contains(t, "no folder", c.Bad(t, 2, "doctor", "nowhere"), "does not exist: name the folder that holds cog.yaml")
}

// TestDoctor_PredictorThatCannotBeRead: the model cannot be served or built.
func TestDoctor_PredictorThatCannotBeRead(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t).Path
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"syntax", []string{"run.py", "x = 1\ndef run(:\n"}, "run.py:2: "},
		{"bytes", []string{"run.py", "x = '\xff'\n"}, "run.py"},
		{"a null byte", []string{"run.py", "x = 1\x00\n"}, "run.py"},
		{
			"no class",
			[]string{"cog.yaml", "run: run.py:Runner\n", "run.py", "def run() -> int: ...\n"},
			`run.py has no "Runner"`,
		},
		{"no predictor", []string{"other.py", ""}, "names no predictor"},
		{"a train function", []string{"cog.yaml", "train: train.py:train\n", "train.py", "("}, "train.py:1: "},
	} {
		got := harness.CLI{Dir: harness.NewFolder(t, c.files...)}.Run(t, "doctor", "--python", python)
		assert.Equal(t, c.name+": it ended with", got.Code, 1)
		assert.Contains(t, c.name, got.Stdout, c.want, "1 problem and 0 differences")
	}
	got := harness.CLI{Dir: harness.NewFolder(t, "run.py", "def run() -> int: return 1\n", "unused.py", "(")}.Run(t,
		"doctor", "--python",
		python)
	assert.Equal(t, "another file: it ended with", got.Code, 0)
	assert.Contains(t, "another file", got.Stdout, "different: unused.py:1: Python 3.", "0 problems and 1 difference")
}
