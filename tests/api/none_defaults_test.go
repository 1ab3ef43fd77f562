package api

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// noneDefaults is as many published models are: None is the default of what cannot be None.
const noneDefaults = `
from typing import List
from cog import BaseRunner, Input, Path, batch

class Runner(BaseRunner):
    def run(self, seed: int = Input(default=None, ge=0), image: Path = None, size: str = Input(default=None, choices=["s", "m"])) -> str:
        return f"{seed} {image} {size}"

class Batched(BaseRunner):
    @batch(max_size=2)
    def run(self, seed: List[int] = Input(default=None), size: str = None) -> List[str]:
        return [f"{s} {size}" for s in seed]

def train(epochs: int = Input(default=None)) -> str:
    return repr(epochs)
`

const (
	noneCogYAML  = "run: run.py:Runner\ntrain: run.py:train\n"
	noneOptional = `{"title":"Input","type":"object","properties":{
		"seed":{"title":"Seed","type":"integer","minimum":0,"nullable":true,"default":null,"x-order":0},
		"image":{"title":"Image","type":"string","format":"uri","nullable":true,"default":null,"x-order":1},
		"size":{"allOf":[{"$ref":"#/components/schemas/size"}],"nullable":true,"default":null,"x-order":2}}}`
)

// wantNone asks for a prediction without inputs, with nulls, and with values.
func wantNone(t *testing.T, s *harness.Server) {
	t.Helper()
	for _, body := range []any{harness.Input{}, harness.Input{"seed": nil, "image": "", "size": nil}} {
		assert.Equal(t, "the function got", s.Succeed(body).Text(t), "None None None")
	}
	assert.Equal(t, "the function got", s.Succeed(harness.Input{"seed": 3.0, "size": "m"}).Text(t), "3 None m")
	assert.Equal(t, "a seed of -1", problems(t, s.Input(harness.Input{"seed": -1}))[0].Msg,
		"-1 is less than the minimum of 0")
}

func TestNoneDefaults_AreRequiredAsWithCog(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "cog.yaml", noneCogYAML, "run.py", noneDefaults)
	s := harness.Ready(t, harness.Options{Dir: dir})
	var missing []string
	for _, p := range problems(t, s.Input(harness.Input{})) {
		missing = append(missing, p.Loc[2]+" "+p.Type)
	}
	assert.Equal(t, "missing", strings.Join(missing, ", "),
		"seed value_error.missing, image value_error.missing, size value_error.missing")
	check := harness.CLI{Dir: dir}.Good(t, "check")
	for name, place := range map[string]string{
		"seed": "Runner.run", "image": "Runner.run", "size": "Runner.run",
		"epochs": "train",
	} {
		line := `parameter "` + name + `" of ` + place + `: its default is None but `
		assert.Contains(t, "check", check, line)
		waitLogged(t, s, line)
	}
	assert.Contains(t, "check", check, "--none-defaults optional", "no problem and 4 warnings")
}

func TestNoneDefaults_MayBeOptional(t *testing.T) {
	t.Parallel()
	const flag, value = "--none-defaults", "optional"
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		c := harness.CLI{Python: python.Path, Dir: harness.NewFolder(t, "cog.yaml", noneCogYAML, "run.py", noneDefaults)}
		harness.EqualJSON(t, "the static input", []byte(c.Good(t, "schema", "--static", "--input", flag, value)),
			noneOptional)
		s := harness.Ready(t, harness.Options{Python: python.Path, Dir: c.Dir, Args: []string{flag, value}})
		harness.EqualJSON(t, "the document", []byte(c.Good(t, "schema", flag, value)),
			string(s.Do(http.MethodGet, "/openapi.json", nil).Body))
		wantNone(t, s)
		assert.Equal(t, "train got", s.Do(http.MethodPost, "/trainings", harness.Input{"input": harness.Input{}}).Text(t),
			"None")
		assert.False(t, hasLogged(s, "its default is None"), "the log warns of what is as it is wanted")
		assert.Contains(t, "check", c.Good(t, "check", flag, value), "no problem: ")
		assert.Contains(t, "predict", c.Good(t, "predict", flag, value, "-i", "seed=4"), "4 None None")
		assert.Contains(t, "train", c.Good(t, "train", flag, value), "None")
	})
}

// TestNoneDefaults_OfModelThatIsExecuted: its source alone does not say what its inputs are.
func TestNoneDefaults_OfModelThatIsExecuted(t *testing.T) {
	t.Parallel()
	source := strings.Replace(noneDefaults, "ge=0", "ge=len(__import__('glob').glob('/nowhere'))", 1)
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", source), Env: []string{"PINION_NONE_DEFAULTS=optional"}}
	harness.EqualJSON(t, "the input", []byte(c.Good(t, "schema", "--input")), noneOptional)
}

func TestNoneDefaults_OfBatches(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", noneDefaults)
	s := harness.Ready(t, harness.Options{
		Dir: dir, Model: "run.py:Batched", Args: []string{"--preload"}, Env: []string{"PINION_NONE_DEFAULTS=optional"},
	})
	assert.Equal(t, "the function got", s.Succeed(harness.Input{}).Text(t), "None None")
	assert.Equal(t, "the function got", s.Succeed(harness.Input{"seed": 3, "size": "m"}).Text(t), "3 m")
}

// TestNoneDefaults_InCogYAML: the flag counts before the variable, and that before the key, which a reload reads anew.
func TestNoneDefaults_InCogYAML(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "cog.yaml", noneCogYAML+"none_defaults: optional\n", "run.py",
		noneDefaults)}
	assert.Contains(t, "the key", c.Good(t, "check"), "no problem: ")
	assert.Contains(t, "the flag", c.Good(t, "check", "--none-defaults", "required"), "4 warnings")
	c.Env = []string{"PINION_NONE_DEFAULTS=required"}
	assert.Contains(t, "the variable", c.Good(t, "check"), "4 warnings")
	assert.Contains(t, "the flag", c.Good(t, "check", "--none-defaults", "optional"), "no problem: ")

	s := harness.Ready(t, harness.Options{Dir: c.Dir})
	wantNone(t, s)
	harness.WriteFile(t, filepath.Join(c.Dir, "cog.yaml"), noneCogYAML)
	s.Signal(syscall.SIGHUP)
	waitLogged(t, s, "its default is None")
	assert.Eventually(t, "the reloaded model asks for its inputs",
		func() bool { return s.Input(harness.Input{}).Code == http.StatusUnprocessableEntity })
}

// TestNoneDefaults_OfStoredDocument: Cog wrote it, and such inputs are required there.
func TestNoneDefaults_OfStoredDocument(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "cog.yaml", noneCogYAML, "run.py", noneDefaults)
	document := harness.CLI{Dir: dir}.Good(t, "schema")
	harness.WriteFile(t, filepath.Join(dir, ".cog/openapi_schema.json"), document)
	c := harness.CLI{Dir: dir}
	harness.EqualJSON(t, "the input", []byte(c.Good(t, "schema", "--input", "--none-defaults", "optional")), noneOptional)
	assert.Contains(t, "predict", c.Good(t, "predict", "--none-defaults", "optional"), "None None None")
	assert.Contains(t, "check", c.Good(t, "check", "--none-defaults", "optional"), "no problem: ")
	s := harness.Ready(t, harness.Options{Dir: dir, Args: []string{"--none-defaults", "optional"}})
	wantNone(t, s)
	assert.Contains(t, "without", c.Bad(t, 2, "predict"), `missing required input "seed"`)

	head, rest, _ := strings.Cut(document, `"Input": {`)
	// as older Cog wrote it: the inputs may be absent
	older := head + `"Input": {` + strings.Replace(rest, `"required": [`, `"once": [`, 1)
	harness.WriteFile(t, filepath.Join(dir, ".cog/openapi_schema.json"), older)
	s = harness.Ready(t, harness.Options{Dir: dir})
	assert.Equal(t, "the function got", s.Succeed(harness.Input{}).Text(t), "None None None")
	assert.False(t, hasLogged(s, `parameter "seed"`),
		"the log warns of inputs that may be absent")
}

func TestNoneDefaults_ThatAreNone(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "cog.yaml", noneCogYAML, "run.py", noneDefaults)}
	const allowed = `"maybe": must be required or optional`
	for _, command := range []string{"serve", "predict", "schema", "check", "train"} {
		assert.Contains(t, command, c.Bad(t, 2, command, "--none-defaults", "maybe"), "--none-defaults "+allowed)
	}
	c.Env = []string{"PINION_NONE_DEFAULTS=maybe"}
	for _, command := range []string{"serve", "predict", "schema", "check", "train"} {
		assert.Contains(t, command, c.Bad(t, 2, command), "PINION_NONE_DEFAULTS: "+allowed)
	}
	c = harness.CLI{Dir: harness.NewFolder(t, "cog.yaml", noneCogYAML+"none_defaults: maybe\n", "run.py", noneDefaults)}
	assert.Contains(t, "serve", c.Bad(t, 2, "serve"), `none_defaults: unknown value "maybe"`,
		"write one of required, optional")
	assert.Contains(t, "check", c.Run(t, "check").Stdout, `cog.yaml:3: none_defaults: unknown value "maybe"`,
		"write one of required, optional")
}
