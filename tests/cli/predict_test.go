package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// askModel does as its input says.
const askModel = `
import os, time
from typing import Any, Optional
from cog import BaseRunner, Input, Path, Secret

PNG = b"\x89PNG\r\n\x1a\n"

class Runner(BaseRunner):
    def setup(self):
        print("setting up")
        if os.environ.get("BREAK_SETUP"):
            raise RuntimeError("no weights here")

    def run(
        self,
        how: str,
        n: int = Input(default=1, ge=0, le=9),
        ratio: float = 1.0,
        flag: bool = False,
        size: str = Input(default="s", choices=["s", "m"]),
        numbers: list[int] = [],
        names: list[str] = [],
        file: Optional[Path] = None,
        secret: Optional[Secret] = None,
        either: int | str = 0,
        extra: dict = {},
        maybe: Optional[int] = None,
    ) -> Any:
        print("predicting", how)
        if how == "fail":
            raise ValueError("as you wished")
        if how == "nothing":
            return None
        if how == "wait":
            try:
                time.sleep(600)
            finally:
                print("cleaned up")
        if how == "text":
            return "a text"
        return {
            "n": n, "ratio": ratio, "flag": flag, "size": size, "numbers": numbers, "names": names,
            "file": file and file.read_text(), "secret": secret and secret.get_secret_value(), "either": either,
            "extra": extra, "maybe": maybe,
        }
`

const fileModel = `
from cog import Path
def run(text: str = "x") -> Path:
    Path("made.png").write_bytes(b"\x89PNG\r\n\x1a\n" + text.encode())
    return Path("made.png")
def many() -> list[Path]:
    for name in ("one.txt", "two.json"):
        Path(name).write_text(name)
    return [Path("one.txt"), Path("two.json")]
`

const streamModel = `
import sys
from cog import ConcatenateIterator
def run(n: int = 3) -> ConcatenateIterator[str]:
    for i in range(n):
        yield f"token{i} "
`

func asker(t testing.TB) harness.CLI {
	return harness.CLI{Dir: harness.NewFolder(t, "run.py", askModel)}
}

func TestPredict_CLIPredictInEachPython(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		c := asker(t)
		c.Python = python.Path
		got := c.Run(t, "predict", "-i", "how=text")
		assert.Equal(t, "Code", got.Code, 0)
		assert.Equal(t, "Stdout", got.Stdout, "a text\n")
		assert.Contains(t, "stderr", got.Stderr, "setting up\n", "predicting text\n")
	})
}

func TestPredict_CLIPredictGivesValuesTheirTypes(t *testing.T) {
	t.Parallel()
	c := asker(t)
	harness.WriteFile(t, filepath.Join(c.Dir, "name.txt"), "from a file")
	got := c.Good(t, "predict", "-i", "how=all", "-i", "n=3", "-i", "ratio=2", "-i", "flag=True", "-i", "size=m",
		"-i", "numbers=1", "-i", "numbers=2", "-i", "names=7", "-i", "file=@name.txt", "-i", "secret=a=b",
		"-i", "either=5", "-i", `extra={"a": [1]}`)
	want := `{"n":3,"ratio":2.0,"flag":true,"size":"m","numbers":[1,2],"names":["7"],"file":"from a file","secret":"a=b",
		"either":5,"extra":{"a":[1]},"maybe":null}`
	harness.EqualJSON(t, "the output", []byte(got), want)
	assert.True(t, strings.HasPrefix(got, "{\n  \"n\": 3,\n"),
		"it is not indented by two: %s, want it to start with %q", got, "{\n \"n\": 3,\n")
	got = c.Good(t, "predict", ".", "-i", "how=all", "-i", "names=@name.txt", "-i", "numbers=[4, 5]", "-i", "either=x",
		"-i", "maybe=7")
	assert.Contains(t, "the output", got, `"numbers": [`, "4,", "5", `"from a file"`, `"either": "x"`, `"maybe": 7`)
	for name, text := range map[string]string{
		"numbers.json": "[6, 7]\n", "names.json": `["a", "b"]`,
		"number.txt": "8\n",
	} {
		harness.WriteFile(t, filepath.Join(c.Dir, name), text)
	}
	got = c.Good(t, "predict", "-i", "how=all", "-i", "names=@names.json", "-i", "numbers=@numbers.json")
	assert.Contains(t, "lists in files", got, `"numbers": [`, "6,", "7", `"names": [`, `"a",`, `"b"`)
	got = c.Good(t, "predict", "-i", "how=all", "-i", "numbers=@number.txt", "-i", "n=@number.txt")
	assert.Contains(t, "a list of one in a file", got, `"n": 8`, `"numbers": [`, "8")
}

func TestPredict_CLIPredictRefusesWrongInputsBeforeSetup(t *testing.T) {
	t.Parallel()
	c := asker(t)
	const valid = "how, n, ratio, flag, size, numbers, names, file, secret, either, extra, maybe"
	cases := []struct {
		name string
		args []string
		want []string
	}{
		{"unknown", []string{"-i", "nope=1"}, []string{`unknown input "nope"; valid inputs are: ` + valid + "\n"}},
		{"missing", nil, []string{`missing required input "how"`}},
		{"unknown in JSON", []string{"--json", `{"how":"x","nope":1}`}, []string{`unknown input "nope"; valid inputs are: `}},
		{"rules", []string{"-i", "how=x", "-i", "n=10", "-i", "size=l", "-i", "numbers=a"}, []string{
			`input "n": 10 is greater than the maximum of 9`, `input "numbers/0": "a" is not of type "integer"`,
			`input "size": "l" is not one of ["s","m"]`,
		}},
		{"no file", []string{"-i", "how=x", "-i", "file=run.py"}, []string{
			`input "file": "run.py" is not an http, https or data URL; for the file of that name write file=@run.py`,
		}},
		{
			"file not there",
			[]string{"-i", "how=x", "-i", "file=@gone.txt"},
			[]string{`input "file": open gone.txt: no such file`},
		},
		{
			"twice",
			[]string{"-i", "how=x", "-i", "n=1", "-i", "n=2"},
			[]string{`input "n": given 2 times, takes one value`},
		},
		{"no pair", []string{"-i", "how"}, []string{"write it as name=value, or name=@file"}},
		{"output in a folder that is not there", []string{"-i", "how=text", "-o", "gone/out.txt"}, []string{
			"-o gone/out.txt: folder gone does not exist",
		}},
		{"output to a folder", []string{"-i", "how=text", "-o", "."}, []string{"-o . is a folder; name a file in it"}},
		{"both ways", []string{"-i", "how=x", "--json", "{}"}, []string{"by --json or by -i, not by both"}},
		{"no object", []string{"--json", "[]"}, []string{"--json: must be a JSON object, got array"}},
		{"no JSON", []string{"--json", "{"}, []string{"--json: invalid JSON at byte 1"}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			got := c.Bad(t, 2, append([]string{"predict"}, test.args...)...)
			assert.Contains(t, "stderr", got, test.want...)
			assert.False(t, strings.Contains(got, "setting up"), "the model was set up, want no \"setting up\" in it:\n%s", got)
		})
	}
}

func TestPredict_CLIPredictWithJSON(t *testing.T) {
	t.Parallel()
	c := asker(t)
	harness.WriteFile(t, filepath.Join(c.Dir, "in.json"), ` {"how":"text"} `)
	c.Stdin = `{"how":"text"}`
	for _, form := range []string{`{"how":"text"}`, "@in.json", "-", "@-"} {
		var p harness.Prediction
		text := c.Good(t, "predict", "--json", form)
		harness.FromJSON(t, text, &p)
		assert.True(t, p.Status == "succeeded" && string(p.Output) == `"a text"` && p.ID != "" &&
			p.Metrics["predict_time"] != nil && strings.Contains(p.Logs, "predicting text") &&
			strings.HasPrefix(text, "{\n  \"id\""), "%s gives %s, want the whole prediction, indented", form, text)
	}
	got := c.Run(t, "predict", "--json", `{"how":"fail"}`)
	assert.Contains(t, "a failure", got.Stdout, `"status": "failed"`, `"error": "ValueError: as you wished"`)
	assert.Equal(t, "a failure ends with", got.Code, 1)
	c.Good(t, "predict", "--json", `{"how":"text"}`, "-o", "out.json")
	text, err := os.ReadFile(filepath.Join(c.Dir, "out.json"))
	assert.True(t, err == nil && json.Valid(text), "out.json holds %q: %v, want valid JSON", text, err)
}

func TestPredict_CLIPredictEnds(t *testing.T) {
	t.Parallel()
	c := asker(t)
	assert.Contains(t, "a failure", c.Bad(t, 1, "predict", "-i", "how=fail"), "Traceback", `in run`,
		"Prediction failed with status \"failed\": ValueError: as you wished\n")
	got := c.Run(t, "predict", "-i", "how=nothing")
	assert.True(t, got.Code == 0 && got.Stdout == "" && strings.Contains(got.Stderr, "No output generated\n"),
		"nothing: %+v, want Code 0, Stdout empty and Stderr with %q", got, "No output generated\n")
	c.Env = []string{"BREAK_SETUP=1"}
	assert.Contains(t, "a failed setup", c.Bad(t, 1, "predict", "-i", "how=text"), "Traceback",
		"setup failed: RuntimeError: no weights here")
}

func TestPredict_CLIPredictWritesFiles(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", fileModel)}
	written := func(args []string, files ...string) {
		t.Helper()
		got := c.Run(t, append([]string{"predict"}, args...)...)
		assert.TrueNow(t, got.Code == 0 && got.Stdout == "", "%v: %+v, want Code 0 and Stdout empty", args, got)
		for i := 0; i < len(files); i += 2 {
			assert.Contains(t, "stderr", got.Stderr, "Written output to: "+files[i]+"\n")
			text, err := os.ReadFile(filepath.Join(c.Dir, files[i]))
			if err != nil || string(text) != files[i+1] {
				t.Errorf("%s holds %q: %v, want %q", files[i], text, err, files[i+1])
			}
		}
	}
	written([]string{"-i", "text=a"}, "output.png", "\x89PNG\r\n\x1a\na")
	written([]string{"-i", "text=b", "-o", "mine.bin"}, "mine.bin", "\x89PNG\r\n\x1a\nb")
	written([]string{"--predictor", "run.py:many"}, "output.0.txt", "one.txt", "output.1.json", "two.json")
	written([]string{"--predictor", "run.py:many", "-o", "x"}, "x.0.txt", "one.txt", "x.1.json", "two.json")
	written([]string{"--predictor", "run.py:many", "-o", "x.dat"}, "x.0.dat", "one.txt", "x.1.dat", "two.json")
	if got := c.Run(t, "predict", "-i", "text=c", "-o", "-"); got.Code != 0 || got.Stdout != "\x89PNG\r\n\x1a\nc" {
		t.Errorf("a file to stdout: %+v, want Code 0 and Stdout %q", got, "\x89PNG\r\n\x1a\nc")
	}
	c = asker(t)
	assert.Equal(t, "a text to stdout", c.Good(t, "predict", "-i", "how=text", "-o", "-"), "a text\n")
	got := c.Run(t, "predict", "-i", "how=text", "--output", "text.txt")
	text, err := os.ReadFile(filepath.Join(c.Dir, "text.txt"))
	assert.True(t, err == nil && string(text) == "a text" && got.Stdout == "",
		`text.txt holds %q, and stdout %q: %v, want text "a text" and Stdout empty`, text, got.Stdout, err)
}

func TestCLIPredict_PrintsStreamOffTerminalAsList(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", streamModel)}
	harness.EqualJSON(t, "the output", []byte(c.Good(t, "run", "-i", "n=2")), `["token0 ", "token1 "]`)
}

func TestPredict_CLIPredictIsCanceled(t *testing.T) {
	t.Parallel()
	c := asker(t)
	cmd, _, _ := c.Start(t, "predict", "-i", "how=wait")
	log := &harness.Log{}
	cmd.Stderr = log
	harness.StartCommand(t, cmd)
	assert.Eventually(t, "the model predicts", func() bool { return strings.Contains(log.String(), "predicting wait") })
	assert.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	interrupted(t, cmd)
	assert.Contains(t, "stderr", log.String(), "predicting wait", "cleaned up", "Prediction canceled")
}

func TestCLIPredict_AsksServer(t *testing.T) {
	t.Parallel()
	c := asker(t)
	s := harness.Ready(t, harness.Options{Dir: c.Dir})
	at := "--url=" + s.Address
	c.Dir = harness.NewFolder(t, "in.txt", "from a file")
	got := c.Run(t, "predict", at, "-i", "how=all", "-i", "file=@in.txt")
	assert.Contains(t, "the output", got.Stdout, `"file": "from a file"`)
	assert.Contains(t, "its logs", got.Stderr, "predicting all")
	assert.Contains(t, "a failure", c.Bad(t, 1, "predict", at, "-i", "how=fail"),
		`Prediction failed with status "failed": ValueError`)
	assert.Contains(t, "an unknown input", c.Bad(t, 2, "predict", at, "-i", "nope=1"),
		`unknown input "nope"; valid inputs are: how`)
	assert.Contains(t, "no training", c.Bad(t, 1, "train", at), "it has no TrainingInput")
	assert.Contains(t, "no URL", c.Bad(t, 2, "predict", "--url", "localhost"), "must be an http or https URL")
	assert.Contains(t, "no server there", c.Bad(t, 1, "predict", "--url", "http://127.0.0.1:1"), "connection refused")
	cmd, _, stderr := c.Start(t, "predict", at, "-i", "how=wait")
	harness.StartCommand(t, cmd)
	s.WaitLog("predicting wait")
	assert.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	interrupted(t, cmd)
	assert.Contains(t, "stderr", stderr.String(), "cleaned up", "Prediction canceled")
}

func TestPredict_CLITrain(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "cog.yaml", "run: run.py:run\ntrain: train.py:train\n", "run.py",
		"def run() -> int: ...\n",
		"train.py", "def train(epochs: int) -> str:\n    print('training')\n    return f'trained {epochs}'\n")}
	got := c.Run(t, "train", "-i", "epochs=3")
	assert.Equal(t, "Code", got.Code, 0)
	assert.Equal(t, "Stdout", got.Stdout, "trained 3\n")
	assert.Contains(t, "a missing input", c.Bad(t, 2, "train"), `missing required input "epochs"`)
	assert.Contains(t, "no train function", asker(t).Bad(t, 2, "train"), "has no train function")
}

// TestPredict_ModelThatOnlyTrains is served, checked and asked as what it is.
func TestPredict_ModelThatOnlyTrains(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "cog.yaml", "train: train.py:train\n",
		"train.py", "import sys\ndef train(epochs: int) -> str:\n    return f'{sys.argv} trained {epochs}'\n")}
	assert.Equal(t, "it gives", c.Good(t, "train", "-i", "epochs=3"), "['train.py'] trained 3\n")
	assert.Contains(t, "check", c.Good(t, "check", "--setup"), "no problem: train.py:train loads and sets up")
	assert.Contains(t, "schema", c.Good(t, "schema", "--train", "--input"), `"epochs"`)
	assert.Contains(t, "predict", c.Bad(t, 2, "predict"), "has no predict function", "pinion train")
	s := harness.Ready(t, harness.Options{Dir: c.Dir})
	for _, path := range []string{"/trainings", "/predictions"} { // as in Cog's train mode
		a := s.Do(http.MethodPost, path, harness.Input{"input": harness.Input{"epochs": 2}})
		assert.Contains(t, path, string(a.Body), `"status":"succeeded","output":"['train.py'] trained 2"`)
	}
}
