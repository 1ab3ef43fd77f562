package api

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// progressModel has bars of the real tqdm, and text without the end of a line. It waits at gates.
const progressModel = `import asyncio, os, time
from cog import BasePredictor
from tqdm import tqdm

def wait(gate):
    open(gate).read()

class Predictor(BasePredictor):
    %[1]s def setup(self):
        print("loading weights...", end="", flush=True)
        wait("loading")
        print(" loaded")
        bar = tqdm(total=100, desc="shards", mininterval=0)
        bar.update(40)
        wait("shards")
        bar.update(60)
        bar.close()

    %[1]s def predict(self, what: str) -> str:
        if what == "bar":
            bar = tqdm(total=1000, desc="steps", mininterval=0)
            for _ in range(500):
                bar.update(1)
            wait("middle")
            for _ in range(500):
                bar.update(1)
            bar.close()
        else:
            while not os.path.exists("stop"):
                print(".", end="")
                %[2]s
        return "done"
`

// wholeBar is how tqdm's last line of a bar begins.
const wholeBar = "steps: 100%|"

// setupLine is a drawing of the progress of a setup, which a later one replaces.
var setupLine = regexp.MustCompile(`\r\x1b\[K[^\r\n]*setting up for \d+s: shards:  40%\|`)

// recordsWith counts the records of a server's log that contain a text.
func recordsWith(s *harness.Server, text string) (n int) {
	for _, line := range s.Log.Lines() {
		if strings.Contains(line.Text, text) {
			n++
		}
	}
	return n
}

func waitRecord(t *testing.T, s *harness.Server, text string) {
	t.Helper()
	assert.Eventually(t, "the log has "+text, func() bool { return recordsWith(s, text) > 0 })
}

func TestProgress_IsInServersLog(t *testing.T) {
	t.Parallel()
	for name, async := range map[string][3]string{
		"sync":  {"", "time.sleep(0.05)", ""},
		"async": {"async", "await asyncio.sleep(0.05)", "--concurrency 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := harness.NewFolder(t, "predict.py", fmt.Sprintf(progressModel, async[0], async[1]))
			loading, shards, middle := harness.MakeFIFO(t, dir, "loading"), harness.MakeFIFO(t, dir, "shards"),
				harness.MakeFIFO(t, dir, "middle")
			s := harness.Start(t, harness.Options{Python: modelsPython(t), Dir: dir, Args: strings.Fields(async[2])})
			s.WaitLog("loading weights...")
			assert.Eventually(t, "health has the setup's text",
				func() bool { return s.Health().Setup.Logs == "loading weights..." })
			if setup := s.Health().Setup; setup.StartedAt == "" || setup.CompletedAt != "" || setup.Status != "starting" {
				t.Errorf("the setup in the health: got %+v, want one that has started and goes on", setup)
			}
			loading()
			waitRecord(t, s, "shards:  40%|")
			assert.Eventually(t, "health has the bar",
				func() bool { return strings.Contains(s.Health().Setup.Logs, "\rshards:  40%|") })
			setup := s.Health().Setup
			if p := setup.Percent; p == nil || *p != 40 || setup.Seconds <= 0 || !strings.HasPrefix(setup.LastLine, "shards:  40%|") {
				t.Errorf("the setup in the health: got %+v, want its seconds, its last line and 40 percent", setup)
			}
			shards()
			s.WaitHealth("READY")
			if setup := s.Health().Setup; setup.Percent != nil || setup.Seconds != 0 || setup.LastLine != "" {
				t.Errorf("the setup in the health, after its end: got %+v, want no progress", setup)
			}
			answer := s.Begin("bar", harness.Input{"what": "bar"})
			waitRecord(t, s, "steps:  50%|")
			middle()
			assert.Contains(t, "the prediction's logs", (<-answer).Prediction.Logs, wholeBar)
			waitRecord(t, s, wholeBar)
			n := recordsWith(s, "steps:")
			assert.True(t, n <= 100, "got %d records of a bar with 1000 steps, want at most one a second", n)
			dots := s.Begin("dots", harness.Input{"what": "dots"})
			waitRecord(t, s, "....")
			harness.WriteFile(t, filepath.Join(dir, "stop"), "")
			<-dots
			for _, line := range s.Log.Lines() {
				assert.False(t, strings.ContainsAny(line.Text, "\r\x1b"),
					`a record has a control character: %.200q, want strings.ContainsAny(line.Text, "\r\x1b") false`, line.Text)
			}
		})
	}
}

func TestProgress_StandsOnTerminal(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"predict", "serve"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			c := harness.CLI{
				Dir:    harness.NewFolder(t, "predict.py", fmt.Sprintf(progressModel, "", "time.sleep(0.05)")),
				Python: modelsPython(t),
			}
			loading, shards := harness.MakeFIFO(t, c.Dir, "loading"), harness.MakeFIFO(t, c.Dir, "shards")
			term := harness.NewTerminal(t)
			args := []string{"predict", "-i", "what=dots"}
			if command == "serve" {
				args = []string{"serve", "--port", "0", "--log-format", "console"}
			}
			harness.WriteFile(t, filepath.Join(c.Dir, "stop"), "")
			cmd, _, _ := c.Start(t, args...)
			cmd.Stderr = term.Program
			harness.StartCommand(t, cmd)
			shows := func(text string) {
				t.Helper()
				assert.Eventually(t, "the terminal shows "+text, func() bool {
					last := term.String()
					return strings.Contains(last[strings.LastIndex(last, "\r\x1b[K")+1:], text)
				})
			}
			shows("loading weights...")
			loading()
			shows("shards:  40%|")
			if command == "serve" {
				assert.Eventually(t, "the terminal shows for how long the setup runs, and its bar", func() bool {
					return setupLine.MatchString(term.String())
				})
				for _, draft := range strings.Split(term.String(), "\r\x1b[K") {
					assert.True(t, !strings.Contains(draft, "shards:  40%|") || strings.Contains(draft, "setting up for "),
						"got the line %q, want the time of the setup in it", draft)
				}
			}
			shards()
			assert.Eventually(t, "the bar is whole and a line", func() bool {
				_, rest, found := strings.Cut(term.String(), "shards: 100%|")
				return found && strings.Contains(rest, "\r\n")
			})
			if command == "serve" {
				_ = cmd.Process.Signal(syscall.SIGINT)
			}
			_ = cmd.Wait()
		})
	}
}
