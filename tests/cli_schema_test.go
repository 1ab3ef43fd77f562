package tests

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

func TestCLISchemaIsTheServersInEachPython(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		dir := example(t, "hello")
		printed := cli{python: python.Path, dir: dir}.good(t, "schema")
		s := harness.Ready(t, harness.Options{Python: python.Path, Dir: dir})
		sameJSON(t, "the document", []byte(printed), string(s.Do(http.MethodGet, "/openapi.json", nil).Body))
	})
}

func TestCLISchemaOfAModelWhosePackagesAreNotInstalled(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		c := cli{python: python.Path, dir: folder(t, "predict.py", heavyModel)}
		sameJSON(t, "the output", []byte(c.good(t, "schema", "--output")),
			`{"title":"Output","type":"string","format":"uri"}`)
		wantText(t, "the document", c.good(t, "schema"), `"scheduler"`, `"ddim"`, `"euler"`)
	})
}

// A type inside Opaque need not be known, and reading the source changes nothing: a statement that would is given up.
func TestCLISchemaStaticOfAnOpaqueTypeWithoutItsPackage(t *testing.T) {
	t.Parallel()
	const source = "import os, pathlib\nfrom typing import Annotated, List, Optional\nfrom absent import Thing\n" +
		"from cog import Opaque\nos.system('touch made')\npathlib.Path('made').touch()\n" +
		"def run(a: Annotated[List[Thing], Opaque], b: Annotated[Optional[Thing], Opaque] = None) -> Annotated[Thing, Opaque]: ...\n"
	c := cli{dir: folder(t, "run.py", source)}
	wantText(t, "the input", c.good(t, "schema", "--static", "--input"), `"items":`, `"nullable": true`)
	sameJSON(t, "the output", []byte(c.good(t, "schema", "--static", "--output")), `{"title":"Output","type":"object"}`)
	if _, err := os.Stat(filepath.Join(c.dir, "made")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading the source made a file: %v", err)
	}
	unmarked := strings.ReplaceAll(source, "Opaque]", "'text']")
	wantText(t, "without Opaque", cli{dir: folder(t, "run.py", unmarked)}.bad(t, 1, "schema", "--static"),
		"absent.Thing: absent is not imported")
}

func TestCLISchemaSaysWhyThereIsNone(t *testing.T) {
	t.Parallel()
	c := cli{dir: folder(t, "run.py", "import torch\ndef run(n: int = torch.n) -> int: ...\n")}
	wantText(t, "the reason", c.bad(t, 1, "schema"), "ModuleNotFoundError: No module named 'torch'",
		"run.py:2: torch.n: torch is not imported when the source is only read")
	c = cli{dir: folder(t, "run.py", "def run(n: bytes) -> int: ...\n")}
	wantText(t, "the mistake", c.bad(t, 1, "schema"), `run.py:1: parameter "n" of run: bytes is not supported`)
	wantText(t, "no model", cli{dir: t.TempDir()}.bad(t, 2, "schema"), "names no predictor")
	wantText(t, "both parts", c.bad(t, 2, "schema", "--input", "--output"), "give one of them")
}

func TestCLISchemaTakesTrainings(t *testing.T) {
	t.Parallel()
	c := cli{dir: folder(t, "cog.yaml", "run: run.py:run\ntrain: run.py:train\n",
		"run.py", "def run(n: int) -> int: ...\ndef train(m: int) -> str: ...\n")}
	wantText(t, "the input", c.good(t, "schema", "--train", "--input"), "TrainingInput", `"m"`)
	s := harness.Ready(t, harness.Options{Dir: c.dir})
	sameJSON(t, "the document", []byte(c.good(t, "schema")), string(s.Do(http.MethodGet, "/openapi.json", nil).Body))
	wantText(t, "without", cli{dir: example(t, "hello")}.bad(t, 2, "schema", "--train"), "has no train function")
}

// A folder with nothing but a train function has the document that it is served with, and its input is the training's.
func TestCLISchemaOfTrainingsAlone(t *testing.T) {
	t.Parallel()
	c := cli{dir: folder(t, "cog.yaml", "train: train.py:train\n", "train.py", "def train(m: int) -> str: ...\n")}
	for _, flags := range [][]string{{"--input"}, {"--input", "--train"}} {
		wantText(t, "the input", c.good(t, append([]string{"schema"}, flags...)...), "TrainingInput", `"m"`)
	}
	wantText(t, "the output", c.good(t, "schema", "--output"), "TrainingOutput")
	s := harness.Ready(t, harness.Options{Dir: c.dir})
	sameJSON(t, "the document", []byte(c.good(t, "schema")), string(s.Do(http.MethodGet, "/openapi.json", nil).Body))
}

// A model that brings its document is served with it: an input that its function does not declare so is refused.
func TestAStoredSchemaIsTheSchema(t *testing.T) {
	t.Parallel()
	source := "def run(n: int) -> int:\n    return n\n"
	plain := cli{dir: folder(t, "run.py", source)}.good(t, "schema")
	stored := strings.ReplaceAll(plain, `"x-order": 0`, `"x-order": 0, "maximum": 5`)
	dir := folder(t, "run.py", source, ".cog/openapi_schema.json", stored)
	sameJSON(t, "the command's", []byte(cli{dir: dir, python: "/nowhere"}.good(t, "schema")), stored)
	wantText(t, "the command's check", cli{dir: dir}.bad(t, 2, "predict", "-i", "n=6"), "greater than the maximum of 5")
	s := harness.Ready(t, harness.Options{Dir: dir})
	sameJSON(t, "the server's", s.Do(http.MethodGet, "/openapi.json", nil).Body, stored)
	wantCode(t, "above the bound", s.Input(input{"n": 6}), http.StatusUnprocessableEntity)
	sameJSON(t, "within", s.Succeed(input{"n": 5}).Output, "5")
}

// The document's title is the model's name: its image's, else its folder's, and its description the docstring.
func TestCLISchemaNamesTheModel(t *testing.T) {
	t.Parallel()
	source := "def run(n: int) -> int:\n    \"\"\"Adds one.\"\"\"\n"
	for image, want := range map[string]string{
		"": "", "painter": "painter", "r8.im/me/painter": "painter", "localhost:5000/me/painter:v1": "painter",
		"me/painter@sha256:1234": "painter",
	} {
		dir := folder(t, "run.py", source, "cog.yaml", "run: run.py:run\nimage: \""+image+"\"\n")
		if want == "" {
			want = filepath.Base(dir)
		}
		var document struct {
			Info struct{ Title, Description string }
		}
		fromJSON(t, cli{dir: dir}.good(t, "schema"), &document)
		if document.Info.Title != want || document.Info.Description != "Adds one." {
			t.Errorf("image %q: %+v, want %q", image, document.Info, want)
		}
	}
}

// `pinion schema > .cog/openapi_schema.json` stores the document: the shell empties the file before the command reads
// it.
func TestCLISchemaIntoTheStoredDocument(t *testing.T) {
	t.Parallel()
	c := cli{dir: folder(t, "run.py", "def run(n: int) -> int:\n    return n\n")}
	want := c.good(t, "schema")
	writeFile(t, filepath.Join(c.dir, ".cog", "openapi_schema.json"), "")
	sameJSON(t, "with an empty file", []byte(c.good(t, "schema")), want)
}

func TestCLISchemaWithABrokenDocument(t *testing.T) {
	t.Parallel()
	c := cli{dir: folder(t, "run.py", "def run() -> int: ...\n", ".cog/openapi_schema.json", "{")}
	wantText(t, "the reason", c.bad(t, 1, "schema"), "openapi_schema.json", "fix it, or remove it")
}

// A document that the model brings and that disagrees with the source is used, and named by everything that reads it.
func TestAStoredSchemaThatDisagreesWithTheSource(t *testing.T) {
	t.Parallel()
	const source = "from cog import Input\ndef run(n: int = Input(default=%s, ge=0), %s: str = 'a') -> int:\n    return n\n"
	made := cli{dir: folder(t, "run.py", fmt.Sprintf(source, "20", "old"))}.good(t, "schema")
	dir := folder(t, "run.py", fmt.Sprintf(source, "25", "new"), ".cog/openapi_schema.json", made)
	want := []string{
		`default of input "n" is 20 in the file and 25 in the source`, `input "new" is in the source alone`,
		`input "old" is in the file alone`,
	}

	got := cli{dir: dir}.run(t, "schema")
	sameJSON(t, "the document", []byte(got.stdout), made)
	for _, text := range want {
		wantText(t, "schema", got.stderr, "warning: .cog/openapi_schema.json disagrees with the source: "+text)
		wantText(t, "check", cli{dir: dir}.good(t, "check"), "warning: .cog/openapi_schema.json: "+text,
			"no problem and 3 warnings")
	}
	s := harness.Ready(t, harness.Options{Dir: dir, Args: []string{"--workers", "2"}})
	const text = "the model's own schema disagrees with its source, and is used"
	line := s.WaitLog(text)
	same(t, "its level", line.Level, "WARN")
	wantText(t, "the log", line.Raw, strings.ReplaceAll(strings.Join(want, "; "), `"`, `\"`))
	allReady(t, s, 2, 0)
	same(t, "two workers say so", s.Log.Count(text), 1)

	dir = folder(t, "run.py", fmt.Sprintf(source, "20", "old"), ".cog/openapi_schema.json", made)
	if got := (cli{dir: dir}).run(t, "schema"); got.code != 0 || got.stderr != "" {
		t.Errorf("of one that agrees it says %q", got.stderr)
	}
	wantText(t, "check", cli{dir: dir}.good(t, "check"), "no problem: ")
}
