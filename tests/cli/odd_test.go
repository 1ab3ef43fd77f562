package cli

import (
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestSchema_ValuesWithCode: what a model declares may have code of its own, which fails or exits as it is read. The
// command says so, with the exception and its line.
func TestSchema_ValuesWithCode(t *testing.T) {
	t.Parallel()
	const model = `from cog import BaseRunner, Input

class Own(BaseException):
    def __str__(self): raise Own

class Odd(BASE):
    def METHOD(self, *_): raise RAISED

class Runner(BaseRunner):
    DOC
    def run(self, x: BASE = Input(FIELD)) -> str:
        return ""
`
	for about, c := range map[string]struct{ base, method, raised, field, doc, want string }{
		"a description that exits":                   {"str", "__str__", "SystemExit(3)", "description=Odd('a')", "", "SystemExit: 3"},
		"a description whose exception has no text":  {"str", "__str__", "Own", "description=Odd('a')", "", "Own: <its message cannot be shown>"},
		"a mark that cannot be told":                 {"int", "__bool__", "ValueError('odd')", "deprecated=Odd(1)", "", "ValueError: odd"},
		"a text about the model that cannot be read": {"str", "__getattribute__", "SystemExit(3)", "", "__doc__ = Odd('a')", "SystemExit: 3"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			source := strings.NewReplacer("BASE", c.base, "METHOD", c.method, "RAISED", c.raised, "FIELD", c.field, "DOC", c.doc).
				Replace(model)
			cli := harness.CLI{Dir: harness.NewFolder(t, "run.py", source, "cog.yaml", "run: run.py:Runner\n")}
			says := cli.Bad(t, 1, "schema")
			assert.True(t, strings.Contains(says, c.want) && !strings.Contains(says, "exit status"), "it says %s, want %s", says, c.want)
		})
	}
}
