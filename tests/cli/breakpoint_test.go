package cli

import (
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// breakpoints stop in setup, where it is asked for, and in run.
const breakpoints = `
import os, cog
class Runner(cog.BaseRunner):
    def setup(self):
        self.step = 1
        if "STOP_IN_SETUP" in os.environ:
            breakpoint()
    def run(self, n: int = 1) -> int:
        answer = 40 + n
        breakpoint()
        return answer + self.step
`

const asyncBreakpoint = `
import asyncio
async def run(n: int = 1) -> int:
    await asyncio.sleep(0)
    answer = 40 + n
    breakpoint()
    return answer + 1
`

// TestBreakpoint_HasTheTerminal: pdb asks in the model's frame, reads what is typed, and the prediction goes on.
func TestBreakpoint_HasTheTerminal(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, c := range []struct {
			name, model string
			env         []string
		}{{"run", breakpoints, nil}, {"setup", breakpoints, []string{"STOP_IN_SETUP=1"}}, {"async", asyncBreakpoint, nil}} {
			term := harness.NewTerminal(t)
			command, _, _ := harness.CLI{Python: python.Path, Env: c.env, Dir: harness.NewFolder(t, "run.py", c.model)}.Start(t, "predict", "-i", "n=1")
			command.Stdin, command.Stdout, command.Stderr = term.Program, term.Program, term.Program
			command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			assert.NoError(t, command.Start())
			prompts := 0
			typed := func(line string) {
				prompts++
				assert.Eventually(t, c.name+": a prompt", func() bool { return strings.Count(term.Shown(), "(Pdb) ") == prompts })
				assert.Must(term.User.WriteString(line + "\n"))(t)
			}
			if c.env != nil {
				typed("p self.step * 1000")
				typed("c")
			}
			typed("p answer * 1000")
			typed("answer = 50")
			typed("c")
			assert.NoError(t, command.Wait(), term.Shown())
			assert.Eventually(t, c.name+": what was typed holds", func() bool {
				return strings.Contains(term.Shown(), "41000") && strings.HasSuffix(term.Shown(), "51\n")
			})
		}
	})
}

// TestBreakpoint_WithoutTerminal: the error names the way, and PYTHONBREAKPOINT has its usual meaning.
func TestBreakpoint_WithoutTerminal(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", breakpoints)
	s := harness.Ready(t, harness.Options{Dir: dir})
	assert.Contains(t, "error", s.Fail(harness.Input{"n": 1}).Error, "`pinion predict`", "PYTHONBREAKPOINT")
	off := harness.Ready(t, harness.Options{Dir: dir, Env: []string{"PYTHONBREAKPOINT=0"}})
	var answer int
	off.Succeed(harness.Input{"n": 1}).Decode(t, &answer)
	assert.Equal(t, "switched off", answer, 42)
}
