package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// benchModel counts nothing and fails on demand.
const benchModel = `
import os
from cog import BaseRunner, Input, Path
from typing import Optional

class Runner(BaseRunner):
    def setup(self):
        if os.environ.get("BREAK_SETUP"):
            raise RuntimeError("no weights here")

    def run(self, text: str, n: int = Input(ge=3, le=9), kind: str = Input(choices=["b", "a"]), fail: bool = False, more: str = "x") -> str:
        if fail:
            raise ValueError("as you wished")
        assert text and n == 3 and kind == "b" and more == "x", (text, n, kind, more)
        return text

def picture(image: Path) -> str:
    return "seen"

def now_and_then(text: str = "x") -> str:
    open("count", "a").write("x")
    if os.path.getsize("count") % 3 == 0:
        raise ValueError("each third")
    return text
`

// benched is what 'pinion bench -o -' prints.
type benched struct {
	Target          string
	Input           json.RawMessage
	Seconds, Rate   float64
	Succeeded, Late int
	Failed          int
	Failures        map[string]int
	Latency         map[string]float64
	ModelShare      float64 `json:"model_share"`
	AskedRate       float64 `json:"asked_rate"`
}

func readBenched(t testing.TB, text string) benched {
	t.Helper()
	var b benched
	harness.FromJSON(t, text, &b)
	return b
}

// short is a measurement that says nothing but that it works.
var short = []string{"-d", "300ms", "--warmup", "50ms", "-c", "3"}

// TestCLIBench_MeasuresFolder with an input made up from the schema; more connections than slots are not failures.
func TestCLIBench_MeasuresFolder(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", benchModel)}
	b := readBenched(t, c.Good(t, append([]string{"bench", "-o", "-"}, short...)...))
	harness.EqualJSON(t, "the input", b.Input, `{"text":"sample","n":3,"kind":"b"}`)
	l := b.Latency
	assert.True(t, b.Succeeded != 0 && b.Failed == 0 && b.Rate > 0 && b.Seconds >= 0.3 && b.ModelShare > 0 &&
		b.ModelShare <= 1 && l["p50"] > 0 && l["p50"] <= l["p90"] && l["p90"] <= l["p99"] && l["p99"] <= l["max"],
		"got %+v, want figures of predictions that succeeded, and latencies in order", b)
	text := c.Good(t, append([]string{"bench", "-o", "figures.json", ".", "-i", "text=given", "-i", "n=3", "-i", "kind=b"},
		append(short, "--", "--workers", "2")...)...)
	assert.Contains(t, "the table", text, `input {"text":"given","n":3,"kind":"b"}`, "succeeded", "p50", "p90", "p99",
		"max",
		"failed                0")
	figures, err := os.ReadFile(filepath.Join(c.Dir, "figures.json"))
	assert.True(t, err == nil && readBenched(t, string(figures)).Succeeded != 0,
		"figures.json holds %s: %v, want anything but 0", figures, err)
}

func TestCLIBench_MeasuresServer(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", benchModel)}
	s := harness.Ready(t, harness.Options{Dir: c.Dir, Model: "run.py:now_and_then", Args: []string{"--queue", "64"}})
	// All of a run by the clock are made: 60 a second for half a second.
	b := readBenched(t, c.Good(t, "bench", s.Address, "--rate", "60", "-d", "500ms", "--warmup", "0", "-o", "-"))
	total := b.Succeeded + b.Failed
	assert.True(t, total == 30 && b.AskedRate == 60 && b.Failures["the prediction failed"] == b.Failed && b.Failed >= 9,
		"it is %+v, want all 30, AskedRate 60, Failures %d and Failed at least 9", b, b.Failed)
	assert.Contains(t, "the table", c.Good(t, append([]string{"bench", s.Address + "/"}, short...)...), `input {}`,
		"the prediction failed")
}

// TestCLIBench_DrawsOnTerminal a histogram, and nothing of it elsewhere.
func TestCLIBench_DrawsOnTerminal(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", benchModel)}
	term := harness.NewTerminal(t)
	cmd, _, _ := c.Start(t, append([]string{"bench"}, short...)...)
	cmd.Stdout = term.Program
	assert.NoError(t, cmd.Run())
	assert.Eventually(t, "the histogram is drawn", func() bool {
		return strings.Count(term.String(), " ms  ") >= 12 && strings.Contains(term.String(), "█")
	})
}

func TestBench_CLIBenchSaysWhyItDoesNot(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", benchModel)}
	assert.Contains(t, "a file", c.Bad(t, 2, "bench", "--predictor", "run.py:picture"),
		"cannot make a sample value for image: give the input by -i or --json")
	assert.Contains(t, "a failure", c.Bad(t, 1, "bench", "-i", "text=x", "-i", "n=3", "-i", "kind=b", "-i", "fail=true"),
		"the first prediction failed, so nothing was measured", "ValueError: as you wished")
	assert.Contains(t, "an unknown input", c.Bad(t, 2, "bench", "-i", "nope=1"), `unknown input "nope"`)
	assert.Contains(t, "no server", c.Bad(t, 1, "bench", "http://127.0.0.1:1"), "ask the server for its schema",
		"connection refused")
	assert.Contains(t, "flags with a URL", c.Bad(t, 2, "bench", "http://127.0.0.1:1", "--", "--workers", "2"),
		"leave them out with a URL")
	assert.Contains(t, "a flag that serve does not know", c.Bad(t, 2, "bench", "--", "--wrokers", "2"),
		"did you mean --workers?")
	assert.Contains(t, "no connections", c.Bad(t, 2, "bench", "-c", "0"), "--connections 0: must be at least 1")
	c.Env = []string{"BREAK_SETUP=1"}
	assert.Contains(t, "a failed setup", c.Bad(t, 1, "bench"), "the model cannot be set up",
		"RuntimeError: no weights here")
}

// TestBench_CLIBenchIsInterrupted: it prints what it has, and its server has ended.
func TestBench_CLIBenchIsInterrupted(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", benchModel)}
	marks := filepath.Join(c.Dir, "count")
	cmd, stdout, stderr := c.Start(t, "bench", "--predictor", "run.py:now_and_then", "-d", "1h", "--warmup", "0", "-c",
		"1")
	harness.StartCommand(t, cmd)
	assert.Eventually(t, "it measures", func() bool {
		info, err := os.Stat(marks)
		return err == nil && info.Size() > 10
	})
	assert.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	assert.NoError(t, cmd.Wait(), stderr)
	assert.Contains(t, "the table", stdout.String(), "succeeded", "the prediction failed")
}
