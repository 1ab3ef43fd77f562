package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// heavyModel imports what is nowhere installed.
const heavyModel = `
import torch
from diffusers import DDIMScheduler, EulerScheduler
from cog import BasePredictor, Input, Path

SCHEDULERS = {"ddim": DDIMScheduler, "euler": EulerScheduler}

class Predictor(BasePredictor):
    def setup(self):
        self.pipe = torch.load("weights")

    @torch.inference_mode()
    def predict(self, prompt: str, scheduler: str = Input(default="ddim", choices=SCHEDULERS.keys())) -> Path:
        ...
`

func TestCLISchema_IsServersInEachPython(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		dir := harness.Example(t, "hello")
		printed := harness.CLI{Python: python.Path, Dir: dir}.Good(t, "schema")
		s := harness.Ready(t, harness.Options{Python: python.Path, Dir: dir})
		harness.EqualJSON(t, "the document", []byte(printed), string(s.Do(http.MethodGet, "/openapi.json", nil).Body))
	})
}

func TestCLISchema_OfModelWhosePackagesAreNotInstalled(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		c := harness.CLI{Python: python.Path, Dir: harness.NewFolder(t, "predict.py", heavyModel)}
		harness.EqualJSON(t, "the output", []byte(c.Good(t, "schema", "--output")),
			`{"title":"Output","type":"string","format":"uri"}`)
		assert.Contains(t, "the document", c.Good(t, "schema"), `"scheduler"`, `"ddim"`, `"euler"`)
	})
}

// TestCLISchema_OfRanks: a model that is read is rank 0 of 1, for its code may ask when it is imported.
func TestCLISchema_OfRanks(t *testing.T) {
	t.Parallel()
	const source = `
import os, cog
SHARE = int(os.environ["RANK"]) + 10 * int(os.environ["WORLD_SIZE"])

@cog.ranks(2)
class Runner(cog.BaseRunner):
    def run(self, share: int = SHARE) -> int: ...
`
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", source)}
	assert.Contains(t, "the document", c.Good(t, "schema"), `"default": 10`)
}

// A type inside Opaque need not be known, and reading the source changes nothing: a statement that would is given up.
func TestCLISchema_StaticOfOpaqueTypeWithoutItsPackage(t *testing.T) {
	t.Parallel()
	const source = "import os, pathlib\nfrom typing import Annotated, List, Optional\nfrom absent import Thing\n" +
		"from cog import Opaque\nos.system('touch made')\npathlib.Path('made').touch()\n" +
		"def run(a: Annotated[List[Thing], Opaque], b: Annotated[Optional[Thing], Opaque] = None) -> Annotated[Thing, Opaque]: ...\n"
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", source)}
	assert.Contains(t, "the input", c.Good(t, "schema", "--static", "--input"), `"items":`, `"nullable": true`)
	harness.EqualJSON(t, "the output", []byte(c.Good(t, "schema", "--static", "--output")),
		`{"title":"Output","type":"object"}`)
	_, err := os.Stat(filepath.Join(c.Dir, "made"))
	assert.True(t, errors.Is(err, fs.ErrNotExist), "reading the source made a file: %v, want fs.ErrNotExist", err)
	unmarked := strings.ReplaceAll(source, "Opaque]", "'text']")
	assert.Contains(t, "without Opaque",
		harness.CLI{Dir: harness.NewFolder(t, "run.py", unmarked)}.Bad(t, 1, "schema", "--static"),
		"absent.Thing: absent is not imported")
}

func TestSchema_CLISchemaSaysWhyThereIsNone(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", "import torch\ndef run(n: int = torch.n) -> int: ...\n")}
	assert.Contains(t, "the reason", c.Bad(t, 1, "schema"), "ModuleNotFoundError: No module named 'torch'",
		"run.py:2: torch.n: torch is not imported when the source is only read")
	c = harness.CLI{Dir: harness.NewFolder(t, "run.py", "def run(n: bytes) -> int: ...\n")}
	assert.Contains(t, "the mistake", c.Bad(t, 1, "schema"), `run.py:1: parameter "n" of run: bytes is not supported`)
	assert.Contains(t, "no model", harness.CLI{Dir: t.TempDir()}.Bad(t, 2, "schema"), "names no predictor")
	assert.Contains(t, "both parts", c.Bad(t, 2, "schema", "--input", "--output"), "give one of them")
}

func TestSchema_CLISchemaTakesTrainings(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "cog.yaml", "run: run.py:run\ntrain: run.py:train\n",
		"run.py", "def run(n: int) -> int: ...\ndef train(m: int) -> str: ...\n")}
	assert.Contains(t, "the input", c.Good(t, "schema", "--train", "--input"), "TrainingInput", `"m"`)
	s := harness.Ready(t, harness.Options{Dir: c.Dir})
	harness.EqualJSON(t, "the document", []byte(c.Good(t, "schema")),
		string(s.Do(http.MethodGet, "/openapi.json", nil).Body))
	assert.Contains(t, "without", harness.CLI{Dir: harness.Example(t, "hello")}.Bad(t, 2, "schema", "--train"),
		"has no train function")
}

// A folder with nothing but a train function has the document that it is served with, and its input is the training's.
func TestSchema_CLISchemaOfTrainingsAlone(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "cog.yaml", "train: train.py:train\n", "train.py",
		"def train(m: int) -> str: ...\n")}
	for _, flags := range [][]string{{"--input"}, {"--input", "--train"}} {
		assert.Contains(t, "the input", c.Good(t, append([]string{"schema"}, flags...)...), "TrainingInput", `"m"`)
	}
	assert.Contains(t, "the output", c.Good(t, "schema", "--output"), "TrainingOutput")
	s := harness.Ready(t, harness.Options{Dir: c.Dir})
	harness.EqualJSON(t, "the document", []byte(c.Good(t, "schema")),
		string(s.Do(http.MethodGet, "/openapi.json", nil).Body))
}

// A model that brings its document is served with it: an input that its function does not declare so is refused.
func TestSchema_StoredSchemaIsSchema(t *testing.T) {
	t.Parallel()
	source := "def run(n: int) -> int:\n    return n\n"
	plain := harness.CLI{Dir: harness.NewFolder(t, "run.py", source)}.Good(t, "schema")
	stored := strings.ReplaceAll(plain, `"x-order": 0`, `"x-order": 0, "maximum": 5`)
	dir := harness.NewFolder(t, "run.py", source, ".cog/openapi_schema.json", stored)
	harness.EqualJSON(t, "the command's", []byte(harness.CLI{Dir: dir, Python: "/nowhere"}.Good(t, "schema")), stored)
	assert.Contains(t, "the command's check", harness.CLI{Dir: dir}.Bad(t, 2, "predict", "-i", "n=6"),
		"greater than the maximum of 5")
	s := harness.Ready(t, harness.Options{Dir: dir})
	harness.EqualJSON(t, "the server's", s.Do(http.MethodGet, "/openapi.json", nil).Body, stored)
	harness.WantCode(t, "above the bound", s.Input(harness.Input{"n": 6}), http.StatusUnprocessableEntity)
	harness.EqualJSON(t, "within", s.Succeed(harness.Input{"n": 5}).Output, "5")
}

// A part of a stored document that cannot be used is named. The rest is checked, and secrets stay secret.
func TestSchema_StoredPartThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	source := "from cog import Secret\n\ndef run(key: Secret, n: int = 1) -> int:\n    return n\n"
	plain := harness.CLI{Dir: harness.NewFolder(t, "run.py", source)}.Good(t, "schema")
	stored := strings.ReplaceAll(plain, `"default": 1`, `"default": 1, "maximum": 5, "not": {"const": 3}`)
	assert.Contains(t, "the stored document", stored, `"not"`)
	dir := harness.NewFolder(t, "run.py", source, ".cog/openapi_schema.json", stored)
	const part = "Input/properties/n/not: the keyword is not supported"
	assert.Contains(t, "the check", harness.CLI{Dir: dir}.Good(t, "check"), part)
	s := harness.Ready(t, harness.Options{Dir: dir, Args: []string{"--workers", "2"}})
	refused := s.Input(harness.Input{"key": "k", "n": 6})
	harness.WantCode(t, "above the bound", refused, http.StatusUnprocessableEntity)
	answer := s.Input(harness.Input{"key": "hidden", "n": 3})
	harness.WantCode(t, "what the part forbids", answer, http.StatusOK)
	assert.False(t, strings.Contains(string(answer.Body), "hidden"), "got the secret in %s, want it hidden", answer.Body)
	assert.Equal(t, "warnings for two workers", strings.Count(s.Log.String(), part), 1)
}

// The document's title is the model's name: its image's, else its folder's, and its description the docstring.
func TestCLISchema_NamesModel(t *testing.T) {
	t.Parallel()
	source := "def run(n: int) -> int:\n    \"\"\"Adds one.\"\"\"\n"
	for image, want := range map[string]string{
		"": "", "painter": "painter", "r8.im/me/painter": "painter", "localhost:5000/me/painter:v1": "painter",
		"me/painter@sha256:1234": "painter",
	} {
		dir := harness.NewFolder(t, "run.py", source, "cog.yaml", "run: run.py:run\nimage: \""+image+"\"\n")
		if want == "" {
			want = filepath.Base(dir)
		}
		var document struct {
			Info struct{ Title, Description string }
		}
		harness.FromJSON(t, harness.CLI{Dir: dir}.Good(t, "schema"), &document)
		assert.True(t, document.Info.Title == want && document.Info.Description == "Adds one.",
			"image %q: %+v, want %q", image, document.Info, want)
	}
}

// `pinion schema > .cog/openapi_schema.json` stores the document: the shell empties the file before the command reads
// it.
func TestCLISchema_IntoStoredDocument(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", "def run(n: int) -> int:\n    return n\n")}
	want := c.Good(t, "schema")
	harness.WriteFile(t, filepath.Join(c.Dir, ".cog", "openapi_schema.json"), "")
	harness.EqualJSON(t, "with an empty file", []byte(c.Good(t, "schema")), want)
}

func TestCLISchema_WithBrokenDocument(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", "def run() -> int: ...\n", ".cog/openapi_schema.json", "{")}
	assert.Contains(t, "the reason", c.Bad(t, 1, "schema"), "openapi_schema.json", "fix it, or remove it")
}

// A document that the model brings and that disagrees with the source is used, and named by everything that reads it.
func TestSchema_StoredSchemaThatDisagreesWithSource(t *testing.T) {
	t.Parallel()
	const source = "from cog import Input\ndef run(n: int = Input(default=%s, ge=0), %s: str = 'a') -> int:\n    return n\n"
	made := harness.CLI{Dir: harness.NewFolder(t, "run.py", fmt.Sprintf(source, "20", "old"))}.Good(t, "schema")
	dir := harness.NewFolder(t, "run.py", fmt.Sprintf(source, "25", "new"), ".cog/openapi_schema.json", made)
	want := []string{
		`default of input "n" is 20 in the file and 25 in the source`, `input "new" is in the source alone`,
		`input "old" is in the file alone`,
	}

	got := harness.CLI{Dir: dir}.Run(t, "schema")
	harness.EqualJSON(t, "the document", []byte(got.Stdout), made)
	for _, text := range want {
		assert.Contains(t, "schema", got.Stderr, "warning: .cog/openapi_schema.json disagrees with the source: "+text)
		assert.Contains(t, "check", harness.CLI{Dir: dir}.Good(t, "check"), "warning: .cog/openapi_schema.json: "+text,
			"no problem and 3 warnings")
	}
	s := harness.Ready(t, harness.Options{Dir: dir, Args: []string{"--workers", "2"}})
	const text = "the model's own schema disagrees with its source, and is used"
	line := s.WaitLog(text)
	assert.Equal(t, "its level", line.Level, "WARN")
	assert.Contains(t, "the log", line.Raw, strings.ReplaceAll(strings.Join(want, "; "), `"`, `\"`))
	harness.WaitWorkers(t, s, 2, 0)
	assert.Equal(t, "two workers say so", s.Log.Count(text), 1)

	dir = harness.NewFolder(t, "run.py", fmt.Sprintf(source, "20", "old"), ".cog/openapi_schema.json", made)
	if got := (harness.CLI{Dir: dir}).Run(t, "schema"); got.Code != 0 || got.Stderr != "" {
		t.Errorf("of one that agrees it says %q, want Code 0 and Stderr empty", got.Stderr)
	}
	assert.Contains(t, "check", harness.CLI{Dir: dir}.Good(t, "check"), "no problem: ")
}
