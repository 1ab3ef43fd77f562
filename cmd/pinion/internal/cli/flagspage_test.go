package cli

import (
	"cmp"
	goflag "flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/tests/assert"
)

var update = goflag.Bool("update", false, "write docs/reference/flags.md anew")

const flagsPage = "../../../../docs/reference/flags.md"

// TestFlagsPage_IsThatOfFlags compares docs/reference/flags.md with the flags and variables in the code. With -update
// it writes the page.
func TestFlagsPage_IsThatOfFlags(t *testing.T) {
	page := []byte(makeFlagsPage(t))
	if *update {
		assert.NoError(t, os.WriteFile(flagsPage, page, 0o644))
	}
	if written, err := os.ReadFile(flagsPage); err != nil || string(written) != string(page) {
		t.Errorf("docs/reference/flags.md differs (%v), want what -run TestFlagsPage_IsThatOfFlags -update writes", err)
	}
}

// TestFlagsPage_HasEveryVariable looks for names of variables in the source of the server.
func TestFlagsPage_HasEveryVariable(t *testing.T) {
	page, err := os.ReadFile(flagsPage)
	assert.NoError(t, err)
	variable := regexp.MustCompile(`"((?:PINION|COG)_[A-Z_]+|SENTRY_[A-Z]+|WEBHOOK_AUTH_TOKEN|LOG_FORMAT)=?"`)
	assert.NoError(t, filepath.WalkDir("../../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range variable.FindAllSubmatch(text, -1) {
			if name := string(found[1]); !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("%s reads %s, and docs/reference/flags.md does not have it: got %.300q, want it to contain %q", path, name,
					string(page), "`"+name+"`")
			}
		}
		return err
	}))
}

// flagRow is a flag in a table of the page.
type flagRow struct{ flag, variable, value, byDefault, meaning string }

func makeFlagsPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString(`# Flags and variables

A flag overrides its variable, and a variable overrides the default. The server's variables may also stand under
` + "`environment`" + ` in ` + "`cog.yaml`" + `. Times have a unit, as ` + "`500ms`, `30s` or `1m30s`" +
		`; in a variable, a number alone means seconds. Sizes are
bytes, or have a unit, as ` + "`512MiB`" + `.
`)
	commands := newRoot().Commands()
	for _, command := range newRoot().Commands() {
		if command.Name() == "jobs" {
			at := slices.IndexFunc(commands, func(c *cobra.Command) bool { return c.Name() == "jobs" })
			commands = slices.Insert(commands, at+1, command.Commands()...)
		}
	}
	for _, command := range commands {
		var rows []flagRow
		command.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			flag := "`--" + f.Name + "`"
			if f.Shorthand != "" {
				flag = "`-" + f.Shorthand + "`, " + flag
			}
			rows = append(rows, readRow(flag, f))
		})
		writeRows(&b, command, rows)
	}
	var keys []string
	model := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&config.Model{}).BindFlags(model)
	model.VisitAll(func(f *pflag.Flag) { keys = append(keys, f.Name) })
	b.WriteString("\n## Keys of a model in pinion.yaml\n\nThese flags of `pinion serve` belong to a model. They are its keys in [pinion.yaml](pinion-yaml.md):\n" +
		"`" + strings.Join(keys, "`, `") + "`.\n")
	b.WriteString("\n## Variables without a flag\n\n| variable | default | meaning |\n|---|---|---|\n")
	texts := variablesWithoutFlag()
	for _, set := range config.Table() {
		if set.Name == "" {
			texts[set.Variable] = [2]string{set.Default, set.Help}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, texts[name][0], texts[name][1])
	}
	return b.String()
}

func writeRows(b *strings.Builder, command *cobra.Command, rows []flagRow) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| flag | variable | value | default | meaning |\n|---|---|---|---|---|\n",
		command.CommandPath())
	for _, r := range rows {
		cells := []string{r.flag, r.variable, r.value, r.byDefault, r.meaning}
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.ReplaceAll(cells[i], "|", `\|`), "\n", " ")
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

func readRow(flag string, f *pflag.Flag) flagRow {
	values := map[string]string{
		"bool": "switch", "duration": "time", "int": "number", "int64": "number", "float64": "number", "string": "text", "stringArray": "text, repeated",
		"bytes": "size", "ms": "number, ms",
	}
	_, usage := pflag.UnquoteUsage(f)
	r := flagRow{flag: flag, value: cmp.Or(values[f.Value.Type()], f.Value.Type()), meaning: usage}
	setting, is := f.Value.(*usertext.Setting)
	if !is {
		if f.DefValue != "" && f.DefValue != "[]" {
			r.byDefault = "`" + strings.Replace(f.DefValue, "m0s", "m", 1) + "`"
		}
		if m := defaultForm.FindStringSubmatch(usage); m != nil {
			r.meaning, r.byDefault = m[1], m[2]
		}
		return r
	}
	if name := setting.VariableName(); name != "" {
		r.variable = "`" + name + "`"
	}
	r.byDefault = setting.Default
	if r.byDefault == "" && setting.String() != "" {
		r.byDefault = "`" + strings.ReplaceAll(cmp.Or(setting.DefaultText(), f.DefValue), ", ", ",") + "`"
	}
	return r
}

// defaultForm is the end of a usage text that says what the default is.
var defaultForm = regexp.MustCompile(`(?s)^(.*) \(default: (.*)\)$`)

// variablesWithoutFlag returns the default and the meaning of each variable that is in no table of settings.
func variablesWithoutFlag() map[string][2]string {
	return map[string][2]string{
		"COG_PREDICT_TYPE_STUB": {"cog.yaml's", "the predictor, as `FILE.py:NAME`"},
		"COG_TRAIN_TYPE_STUB":   {"cog.yaml's", "the train function, as `FILE.py:NAME`"},
		"GOGC":                  {"managed", "Go's collector; a value switches the server's own management off"},
		"GOMEMLIMIT": {
			"twice the memory budget and 88 MiB, or half of the container's memory if that is less",
			"soft memory limit of the front",
		},
		"NO_COLOR":           {"none", "a value switches colours and progress off, as `TERM=dumb` does"},
		"PINION_CACHE_DIR":   {"none", "the folder whose `weights` is the cache of weights, instead of Cog's"},
		"COG_CACHE_DIR":      {"`~/.cache/cog`", "the folder whose `weights` is the cache of weights"},
		"HF_ENDPOINT":        {"`https://huggingface.co`", "the hub of weights with `hf://`"},
		"HF_TOKEN":           {"`HUGGING_FACE_HUB_TOKEN`", "the token for that hub"},
		"HF_HUB_CACHE":       {"`~/.cache/huggingface/hub`", "the cache of `huggingface_hub`, whose files are used too"},
		"HF_HUB_OFFLINE":     {"none", "`1`: no hub is asked"},
		"PINION_AUTH_TOKEN":  {"none", "bearer token that `pinion predict --url` and `pinion bench` send"},
		"SENTRY_DSN":         {"none", "where [errors are reported](../how-to/telemetry.md#sentry)"},
		"SENTRY_ENVIRONMENT": {"none", "the environment that those reports name"},
		"SENTRY_RELEASE":     {"`pinion@VERSION`", "the release that those reports name"},
	}
}
