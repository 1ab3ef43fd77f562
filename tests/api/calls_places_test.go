package api

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// placedCallers call from every place where code of a model runs for a prediction.
var placedCallers = map[string]string{
	"echo": `
def run(text: str) -> str:
    return f"<{text}>"
`,
	"trains": `
import cog

def train(text: str) -> str:
    return cog.call("echo", text=text)

def run(text: str) -> str:
    return text
`,
	"trains-async": `
import cog

async def train(text: str) -> str:
    return await cog.call_async("echo", text=text)

async def run(text: str) -> str:
    return text
`,
	"prepares": `
import cog

class Runner(cog.BaseRunner):
    def preprocess(self, text: str) -> str:
        return cog.call("echo", text="pre " + text)

    @cog.batch(max_size=4)
    def run(self, text: list[str]) -> list[str]:
        return [cog.call("echo", text=f"run {t}") for t in text]

    def postprocess(self, output: str) -> str:
        return cog.call("echo", text="post " + output)
`,
	"batched-async": `
import asyncio
import cog

@cog.batch(max_size=4)
async def run(text: list[str]) -> list[str]:
    return list(await asyncio.gather(*(cog.call_async("echo", text=t) for t in text)))
`,
	"methods": `
import cog

class Runner(cog.BaseRunner):
    @cog.batch(max_size=4)
    def both(self, texts: list[str]) -> list[str]:
        return [cog.call("echo", text=t) for t in texts]

    def run(self, text: str) -> str:
        return self.both(text)
`,
	"methods-async": `
import asyncio
import cog

class Runner(cog.BaseRunner):
    @cog.batch(max_size=4)
    async def both(self, texts: list[str]) -> list[str]:
        return list(await asyncio.gather(*(cog.call_async("echo", text=t) for t in texts)))

    async def run(self, text: str) -> str:
        return await self.both(text)
`,
	"preloaded": `
import cog

def run(text: str) -> str:
    return cog.call("echo", text=text)
`,
}

// TestCallsPlaces_EveryPlace: of trainings, preprocess, postprocess, batched functions and methods, and preloaded
// models.
func TestCallsPlaces_EveryPlace(t *testing.T) {
	t.Parallel()
	keys := map[string]string{}
	for name, code := range placedCallers {
		keys[name] = ", queue: 16, predictor: run.py:run"
		if strings.Contains(code, "class Runner") {
			keys[name] = ", queue: 16, predictor: run.py:Runner"
		}
	}
	keys["preloaded"] += ", preload: true"
	s := placedModels(t, keys)
	for model, want := range map[string]string{
		"prepares": "<post <run <pre x>>>", "batched-async": "<x>", "methods": "<x>", "methods-async": "<x>",
		"preloaded": "<x>",
	} {
		for range 3 { // one after the other, and so in a reused process, and a reused scope
			assert.Equal(t, model, harness.PredictBy(s, model, harness.Input{"text": "x"}).Text(t), want)
		}
	}
	for _, model := range []string{"trains", "trains-async"} {
		a := s.Do(http.MethodPost, "/models/"+model+"/trainings", map[string]any{"input": harness.Input{"text": "x"}})
		assert.Equal(t, model, a.Text(t), "<x>")
	}
}

// placedModels serves the placedCallers on the oldest Python.
func placedModels(t *testing.T, keys map[string]string) *harness.Server {
	t.Helper()
	dir := t.TempDir()
	text, python := "models:\n", harness.OldestPython(t)
	for name, code := range placedCallers {
		harness.WriteFile(t, filepath.Join(dir, name, "run.py"), code)
		if strings.HasPrefix(name, "trains") {
			harness.WriteFile(t, filepath.Join(dir, name, "cog.yaml"), "run: run.py:run\ntrain: run.py:train\n")
			keys[name] = ""
		}
		text += "  " + name + ": {path: " + name + keys[name] + "}\n"
	}
	file := filepath.Join(dir, "pinion.yaml")
	harness.WriteFile(t, file, text)
	s := harness.Start(t, harness.Options{
		Dir: t.TempDir(), Models: []string{"--config", file}, Args: []string{"--python", python.Path},
	})
	harness.WaitModels(t, s)
	return s
}

// passingModel passes a text on to the next model of a list.
const passingModel = `
import cog

def run(to: list[str]) -> str:
    return cog.call(to[0], to=to[1:]) if to else "end"
`

// TestCallsPlaces_Chains: a chain is as long as there are models, whose versions are one model.
func TestCallsPlaces_Chains(t *testing.T) {
	t.Parallel()
	code, keys := map[string]string{}, map[string]string{}
	names := []string{"a", "b", "c", "d", "e", "f", "ocr", "ocr@2"}
	for _, name := range names {
		code[name], keys[name] = passingModel, ", predictor: run.py:run"
	}
	s, _ := callingModels(t, code, keys, harness.Options{})
	models := []string{"b", "c", "d", "e", "f", "ocr@2"}
	assert.Equal(t, "a chain", harness.PredictBy(s, "a", harness.Input{"to": models}).Text(t), "end")
	failedWith(t, harness.PredictBy(s, "a", harness.Input{"to": append(slices.Clone(models), "a")}),
		`model "a" is already among its callers: a → b → c → d → e → f → ocr → a`)
	for _, back := range []string{"ocr", "ocr@1", "ocr@2"} {
		for _, first := range []string{"ocr", "ocr@1", "ocr@2"} {
			failedWith(t, harness.PredictBy(s, first, harness.Input{"to": []string{"b", back}}),
				`model "`+back+`" is already among its callers: ocr → b → `+back)
		}
	}
}
