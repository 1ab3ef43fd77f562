package cli

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestFunctions_Faults: check and a start name what is wrong with a function, its place, and what to do.
func TestFunctions_Faults(t *testing.T) {
	t.Parallel()
	const plain = "    def run(self, text: str) -> str: ...\n"
	for _, c := range []struct{ name, body, want string }{
		{
			"two of one name", plain + "    @cog.function\n    def a(self) -> str: ...\n    @cog.function(name=\"a\")\n    def b(self) -> str: ...\n",
			`Runner.b: two functions are named 'a'`,
		},
		{
			"a route", plain + "    @cog.function\n    def predictions(self) -> str: ...\n",
			`the function cannot be named 'predictions', which is a route`,
		},
		{
			"letters", plain + "    @cog.function(name=\"a.b\")\n    def a(self) -> str: ...\n",
			`the function cannot be named 'a.b'`,
		},
		{
			"a private name", plain + "    @cog.function\n    def _hidden(self) -> str: ...\n",
			"@function is on the private method _hidden",
		},
		{
			"a property", plain + "    @property\n    @cog.function\n    def size(self) -> int: ...\n",
			"@function decorates a property",
		},
		{
			"async beside def", plain + "    @cog.function\n    async def a(self) -> str: ...\n",
			"it is async def and Runner.run is def",
		},
		{
			"without self", plain + "    @cog.function\n    def a() -> str: ...\n", "it has no self",
		},
		{
			"a type", plain + "    @cog.function\n    def a(self, x) -> str: ...\n", "it has no type",
		},
		{
			"the other order", plain + "    @cog.function\n    @cog.batch(max_size=2)\n    def a(self, x: list[str]) -> list[str]: ...\n",
			"write @batch above @function",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := harness.NewFolder(t, "run.py", "import cog\n\n\nclass Runner(cog.BaseRunner):\n"+c.body)
			out := harness.CLI{}.Run(t, "check", dir).Stdout
			assert.True(t, strings.Contains(out, c.want), "check says %q, want %q", out, c.want)
		})
	}
}

// TestFunctions_Commands: schema, check, predict and bench know a model's functions, here and at a server.
func TestFunctions_Commands(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t)
	harness.CopyFile(t, "models/functions.py", filepath.Join(dir, "run.py"))
	var cli harness.CLI
	good := func(want string, args ...string) {
		t.Helper()
		out := cli.Good(t, args...)
		assert.True(t, strings.Contains(out, want), "%v prints %q, want %q", args, out, want)
	}
	bad := func(code int, want string, args ...string) {
		t.Helper()
		out := cli.Bad(t, code, args...)
		assert.True(t, strings.Contains(out, want), "%v says %q, want %q", args, out, want)
	}
	model := []string{"--predictor", "run.py:Sync"}
	with := func(args ...string) []string { return append(args, model...) }
	good(`"texts"`, with("schema", dir, "--function", "embed", "--input")...)
	good(`"url": "/functions/embed"`, with("schema", dir, "--function", "embed", "--static")...)
	good(`"embed": [`, with("check", dir, "--json")...)
	good("2,\n  1", with("predict", dir, "--function", "embed", "-i", `texts=["ab","c"]`)...)
	good("predict x", with("predict", dir, "--function", "predict", "-i", "text=x")...)
	bad(2, `This model has no function "embd". It has embed`, with("predict", dir, "--function", "embd")...)
	bad(2, "valid inputs are: texts", with("predict", dir, "--function", "embed", "-i", "q=1")...)
	model[1] = "run.py:NoRun"
	good("no problem", with("check", dir)...)
	bad(2, "the model has no run(), only functions: give --function embed or fail", with("predict", dir)...)
	s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:Sync"})
	url := "http://" + strings.TrimPrefix(s.Address, "http://")
	good("2,\n  1", "predict", "--url", url, "--function", "embed", "-i", `texts=["ab","c"]`)
	bad(1, "It has embed", "predict", "--url", url, "--function", "embd")
	good("succeeded", "bench", url+"/functions/embed", "-c", "1", "-d", "1s", "--warmup", "0s")
	harness.WantCode(t, "health", s.Do(http.MethodGet, "/health-check", nil), 200)
}
