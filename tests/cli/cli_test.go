package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pinion/tests/harness"
)

func TestCLI_HelpsBeginner(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: t.TempDir()}
	harness.WantText(t, "the short help", c.Good(t), "pinion init", "pinion serve", "pinion predict")
	harness.WantText(t, "a misspelt command", c.Bad(t, 2, "predikt"), `unknown command "predikt"; did you mean predict?`)
	harness.WantText(t, "no command at all", c.Bad(t, 2, "xyzzyx"), "'pinion help' lists the commands")
	harness.WantText(t, "a misspelt flag", c.Bad(t, 2, "predict", "--jsn", "{}"), "did you mean --json?")
}

func TestCLIInitServesAtOnce(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: t.TempDir()}
	harness.WantText(t, "the next steps", c.Good(t, "init", "new"), "wrote new/cog.yaml", "wrote new/run.py",
		"pinion serve new")
	for _, name := range []string{"cog.yaml", "run.py", "requirements.txt", ".dockerignore", ".vscode/settings.json", ".vscode/cog.schema.json"} {
		if _, err := os.Stat(filepath.Join(c.Dir, "new", name)); err != nil {
			t.Error(err)
		}
	}
	harness.Equal(t, "it says", c.Good(t, "predict", "new", "-i", "name=Ada", "-i", "times=2"), "hello Ada hello Ada\n")
	c.Good(t, "check", "--setup", "new")
	s := harness.Ready(t, harness.Options{Dir: filepath.Join(c.Dir, "new")})
	harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output, `"hello world"`)
}

func TestCLIInitOverwritesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cog.yaml", "run.py", "predict.py"} {
		c := harness.CLI{Dir: harness.NewFolder(t, name, "mine")}
		harness.WantText(t, "the refusal", c.Bad(t, 1, "init"), "has a "+name+" already, and nothing is overwritten")
		if files, err := os.ReadDir(c.Dir); err != nil || len(files) != 1 {
			t.Errorf("there are %v: %v", files, err)
		}
	}
	c := harness.CLI{Dir: harness.NewFolder(t, "requirements.txt", "mine")}
	harness.WantText(t, "what it did", c.Good(t, "init"), "wrote run.py", "kept  requirements.txt")
	if text, err := os.ReadFile(filepath.Join(c.Dir, "requirements.txt")); err != nil || string(text) != "mine" {
		t.Errorf("requirements.txt holds %q: %v", text, err)
	}
}

// interrupted waits for the end of a command that is to end as Ctrl-C ends it.
func interrupted(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	_ = cmd.Wait() // ProcessState says how it ended
	if cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
}
