package cli

import (
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestCLIPython_HasPackageThatServingGives(t *testing.T) {
	t.Parallel()
	const seen = "import cog, sys; from run import Runner; print(cog.__file__.split('/')[-3][:4], sys.executable)"
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		c := harness.CLI{Python: python.Path, Dir: harness.Example(t, "hello")}
		assert.Equal(t, "the package and the Python", c.Good(t, "python", "-c", seen), "sdk- "+python.Path+"\n")
	})
}

func TestCLIPython_RunsTestsOfModel(t *testing.T) {
	t.Parallel()
	text := harness.ReadFile(t, "../docs/how-to/test.md")
	var files []string
	for _, name := range []string{"run.py", "test_run.py"} {
		code := regexp.MustCompile(`(?m)^    # ` + name + `\n(?:(?:    (?:[^#\n].*)?)?\n)+`).FindString(text)
		assert.TrueNow(t, code != "", `docs/how-to/test.md has no program %s: got "", want some text`, name)
		files = append(files, name, regexp.MustCompile(`(?m)^    `).ReplaceAllString(code, ""))
	}
	c := harness.CLI{Dir: harness.NewFolder(t, files...)}
	assert.Contains(t, "pytest's output", c.Good(t, "python", "-m", "pytest", "-p", "no:cacheprovider",
		"--basetemp", t.TempDir()+"/files"), " passed")
	wrong := harness.CLI{Dir: harness.NewFolder(t, "test_run.py", "def test_run():\n    import run\n")}
	got := wrong.Run(t, "python", "-m", "pytest", "-p", "no:cacheprovider")
	assert.True(t, got.Code == 1, "pytest that fails: got exit code %d, want 1:\n%s", got.Code, got.Stdout)
}

// TestCLIPython_ExampleOfHelp runs in the folder that pinion init makes.
func TestCLIPython_ExampleOfHelp(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: t.TempDir()}
	_, program, found := strings.Cut(c.Good(t, "python", "--help"), "pinion python -c '")
	program, _, ends := strings.Cut(program, "'\n")
	assert.TrueNow(t, found && ends, "the help has no example with -c, want one")
	c.Good(t, "init")
	assert.Equal(t, program, c.Good(t, "python", "-c", program), "hello Ada hello Ada\n")
}

func TestCLIPython_WithoutPython(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Python: "/nowhere/python", Dir: t.TempDir()}
	assert.Contains(t, "the message", c.Bad(t, 2, "python", "-c", "1"), "/nowhere/python")
	assert.Contains(t, "the help", c.Good(t, "python", "--help"), "pinion python -m pytest")
}
