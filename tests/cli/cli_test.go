package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestCLI_HelpsBeginner(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: t.TempDir()}
	assert.Contains(t, "the short help", c.Good(t), "pinion init", "pinion serve", "pinion predict")
	assert.Contains(t, "a misspelt command", c.Bad(t, 2, "predikt"), `unknown command "predikt"; did you mean predict?`)
	assert.Contains(t, "no command at all", c.Bad(t, 2, "xyzzyx"), "'pinion help' lists the commands")
	assert.Contains(t, "a misspelt flag", c.Bad(t, 2, "predict", "--jsn", "{}"), "did you mean --json?")
}

func TestCLI_InitServesAtOnce(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: t.TempDir()}
	python := harness.AnyPython(t)
	assert.Contains(t, "the next steps", c.Good(t, "init", "new"), "wrote new/cog.yaml", "wrote new/run.py",
		python.Path+" (PINION_PYTHON)", "cd new", "pinion predict -i name=Ada", "pinion serve")
	for _, name := range []string{
		"cog.yaml", "run.py", "test_run.py", "requirements.txt", "README.md", ".gitignore",
		".dockerignore", ".vscode/settings.json", ".vscode/cog.schema.json",
	} {
		if _, err := os.Stat(filepath.Join(c.Dir, "new", name)); err != nil {
			t.Error(err)
		}
	}
	assert.Contains(t, "cog.yaml", harness.ReadFile(t, filepath.Join(c.Dir, "new", "cog.yaml")),
		fmt.Sprintf(`python_version: "3.%d"`, python.Minor))
	assert.Equal(t, "it says", c.Good(t, "predict", "new", "-i", "name=Ada", "-i", "times=2"), "hello Ada hello Ada\n")
	s := harness.Ready(t, harness.Options{Dir: filepath.Join(c.Dir, "new")})
	harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output, `"hello world"`)
}

// TestInit_Templates makes a model of each kind, looks for mistakes, runs its test and makes the prediction that its
// README and the command show.
func TestInit_Templates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ template, output string }{
		{"text", "hello Ada\n"}, {"image", ""}, {"chat", "two"}, {"batch", "4\n"}, {"sklearn", `"setosa": 0.9`},
	} {
		t.Run(c.template, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cli := harness.CLI{Dir: dir}
			if c.template == "sklearn" {
				harness.Full(t)
				cli.Python = harness.Tool(t, "venvs/sklearn/bin/python")
			} else {
				cli.Python = harness.AnyPython(t).Path
			}
			said := cli.Good(t, "init", "--template", c.template)
			found := regexp.MustCompile(`(?m)^  pinion (predict .*)$`).FindStringSubmatch(said)
			assert.TrueNow(t, found != nil, "got no prediction to try: %s, want non-nil", said)
			assert.Contains(t, "README.md", harness.ReadFile(t, filepath.Join(dir, "README.md")), found[1],
				"pinion python -m pytest")
			assert.Contains(t, "the check", cli.Good(t, "check", "--setup"), "no problem: run.py:Runner")
			if c.template != "sklearn" { // which has no pytest beside it
				assert.Contains(t, "the tests", cli.Good(t, "python", "-m", "pytest", "-q", "--basetemp", t.TempDir()), "1 passed")
			}
			if c.template == "image" {
				cli.Good(t, "python", "-c", "from PIL import Image; Image.new('RGB', (9, 9)).save('photo.jpg')")
			}
			shell := exec.Command("sh", "-c", `pinion() { "$PINION_BIN" "$@"; }; pinion `+found[1])
			shell.Dir = dir
			shell.Env = append(harness.BareEnv(), "PINION_BIN="+harness.Binary(t), "TMPDIR="+t.TempDir(),
				"PINION_PYTHON="+cli.Python)
			out, err := shell.Output()
			if err != nil {
				t.Fatalf("%s: got %v, want no error", found[1], err)
			}
			assert.Contains(t, "the output", string(out), c.output)
		})
	}
	assert.Contains(t, "another template", harness.CLI{Dir: t.TempDir()}.Bad(t, 2, "init", "--template", "txt"),
		`--template "txt": must be one of text, image, chat, sklearn, batch`)
}

// TestCLI_FollowsNoLinks: where a link of the folder leads out of it, nothing is written there, and no other file either.
func TestCLI_FollowsNoLinks(t *testing.T) {
	t.Parallel()
	const model = "def run(x: int = 1) -> Path:\n    Path('made.txt').write_text('x')\n    return Path('made.txt')\n"
	for _, c := range []struct{ link, args string }{
		{".vscode", "init"},
		{"Dockerfile", "dockerfile -o Dockerfile"},
		{"Dockerfile.dockerignore", "dockerfile -o Dockerfile"},
		{"output.txt", "predict"},
	} {
		dir, outside := t.TempDir(), t.TempDir()
		target := outside
		if c.args != "init" {
			target = filepath.Join(outside, "file")
			dir = harness.NewFolder(t, "cog.yaml", "run: run.py:run\n", "run.py", "from cog import Path\n"+model)
		}
		assert.NoError(t, os.Symlink(target, filepath.Join(dir, c.link)))
		said := harness.CLI{Dir: dir}.Bad(t, 1, strings.Fields(c.args)...)
		assert.Contains(t, c.args, said, c.link, "path escapes from parent")
		entries, err := os.ReadDir(outside)
		assert.True(t, err == nil && len(entries) == 0, "%s: the link's folder has %v, %v, want nothing", c.link, entries, err)
		for _, name := range []string{"Dockerfile", "test_run.py", "README.md"} {
			info, err := os.Lstat(filepath.Join(dir, name))
			assert.True(t, err != nil || name == c.link, "%s: it wrote %v before, want nothing", c.link, info)
		}
	}
}

// TestInit_NoPython writes the files, and says what is missing.
func TestInit_NoPython(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: t.TempDir(), Env: []string{"PINION_PYTHON=/nowhere/python3"}}
	assert.Contains(t, "it says", c.Good(t, "init"), "wrote run.py", "No Python serves the model yet", "/nowhere/python3")
}

func TestCLI_InitOverwritesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cog.yaml", "run.py", "predict.py"} {
		c := harness.CLI{Dir: harness.NewFolder(t, name, "mine")}
		assert.Contains(t, "the refusal", c.Bad(t, 2, "init"), "has a "+name+" already, and nothing is overwritten")
		files, err := os.ReadDir(c.Dir)
		assert.True(t, err == nil && len(files) == 1, "there are %v: %v, want 1", files, err)
	}
	c := harness.CLI{Dir: harness.NewFolder(t, "requirements.txt", "mine")}
	assert.Contains(t, "what it did", c.Good(t, "init"), "wrote run.py", "kept  requirements.txt")
	text, err := os.ReadFile(filepath.Join(c.Dir, "requirements.txt"))
	assert.True(t, err == nil && string(text) == "mine", "requirements.txt holds %q: %v, want mine", text, err)
}

// interrupted waits for the end of a command that is to end as Ctrl-C ends it.
func interrupted(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	_ = cmd.Wait() // ProcessState says how it ended
	assert.Equal(t, fmt.Sprintf("it ended with %v", cmd.ProcessState), cmd.ProcessState.ExitCode(), 130)
}
