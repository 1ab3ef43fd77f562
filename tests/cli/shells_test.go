package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestCompletion_TypedInShells types words at a prompt with a tab behind them, and runs what becomes of the line.
func TestCompletion_TypedInShells(t *testing.T) {
	t.Parallel()
	for name, shell := range map[string]struct{ arguments, load string }{
		"bash": {"--norc --noprofile", "source <(pinion completion bash)"},
		"zsh":  {"-f", "autoload -U compinit; compinit -u -D; source <(pinion completion zsh)"},
		"fish": {"--no-config", "pinion completion fish | source"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startShell(t, name, strings.Fields(shell.arguments)...)
			s.enter(shell.load + " && pinion loaded")
			for _, c := range []struct{ typed, want string }{
				{"ser", "serve"},
				{"jobs li", "jobs list"},
				{"serve --log-f", "serve --log-format"},
				{"serve --log-format c", "serve --log-format console"},
				{"serve --log-format=c", "serve --log-format=console"},
				{"serve --config model/ru", "serve --config model/run.py"},
				{"predict model -i st", "predict model -i style="},
				{"predict model -i style=p", "predict model -i style=pencil"},
				{"predict model --input=st", "predict model --input=style="},
				{"predict model --input=style=p", "predict model --input=style=pencil"},
				{"bench model -i style=p", "bench model -i style=pencil"},
				{"predict model -i prompt=@model/pi", "predict model -i prompt=@model/pictures/"},
				{"predict model -i prompt=@model/pictures/a", "predict model -i prompt=@model/pictures/a cat.png"},
			} {
				assert.Equal(t, c.typed, s.enter("pinion "+c.typed+"\t"), c.want)
			}
			s.key("pinion jobs \t\t")
			assert.Eventually(t, "the commands are listed", func() bool {
				return strings.Contains(s.term.String(), "dead letters, or what has ended")
			})
			if text := s.term.String(); strings.Contains(text, "not found") || strings.Contains(text, "unknown option") {
				t.Errorf("got a script that fails, want none:\n%s", text)
			}
		})
	}
}

// typedShell is a shell at a terminal. It runs completions with the binary; of any other command it records the words.
type typedShell struct {
	t        *testing.T
	term     *harness.Terminal
	recorded string
}

func startShell(t *testing.T, name string, args ...string) *typedShell {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("there is no %s", name)
	}
	dir, home := t.TempDir(), t.TempDir()
	s := &typedShell{t: t, term: harness.NewTerminal(t), recorded: filepath.Join(home, "recorded")}
	harness.WriteFile(t, filepath.Join(dir, "model", "run.py"), `from cog import Input

def run(prompt: str, style: str = Input(default="oil", choices=["oil", "pencil"])) -> str: return prompt
`)
	harness.WriteFile(t, filepath.Join(dir, "model", "pictures", "a cat.png"), "")
	command := filepath.Join(home, "bin", "pinion")
	harness.WriteFile(t, command, fmt.Sprintf(`#!/bin/sh
case $1 in
completion | __complete*) exec %s "$@" ;;
*) echo "$*" >>%s ;;
esac
`, harness.Binary(t), s.recorded))
	if err := os.Chmod(command, 0o700); err != nil { //nolint:gosec // a command
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...) //nolint:gosec // a shell
	cmd.Dir = dir
	cmd.Env = append(harness.BareEnv(), "PATH="+filepath.Dir(command)+":"+os.Getenv("PATH"), "HOME="+home,
		"TERM=xterm", "COLUMNS=120", "TMPDIR="+harness.ShortTempDir(t), "PINION_PYTHON="+harness.AnyPython(t).Path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.term.Program, s.term.Program, s.term.Program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	harness.StartCommand(t, cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the terminal shows:\n%s", s.term.Shown())
		}
	})
	return s
}

// key types characters, once the shell reads them one by one.
func (s *typedShell) key(text string) {
	s.t.Helper()
	assert.Eventually(s.t, "the shell reads keys", func() bool {
		modes, err := unix.IoctlGetTermios(int(s.term.Program.Fd()), unix.TCGETS)
		return err == nil && modes.Lflag&unix.ICANON == 0
	})
	_, err := s.term.User.WriteString(text)
	assert.NoError(s.t, err)
}

// enter types a line and returns the words that pinion then got.
func (s *typedShell) enter(text string) (words string) {
	s.t.Helper()
	before, _ := os.ReadFile(s.recorded) // there may be none yet
	s.key(text + "\r")
	assert.Eventually(s.t, "pinion runs", func() bool {
		now, err := os.ReadFile(s.recorded)
		if err != nil || len(now) == len(before) || now[len(now)-1] != '\n' {
			return false
		}
		words = strings.TrimSuffix(string(now[len(before):]), "\n")
		return true
	})
	return words
}
