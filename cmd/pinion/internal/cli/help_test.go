package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/internal/version"
	"pinion/tests/assert"
)

// TestHelp_EachFlagOfServeIsInOneGroup, and so is each command.
func TestHelp_EachFlagOfServeIsInOneGroup(t *testing.T) {
	count := func(groups []nameGroup) map[string]int {
		found := map[string]int{}
		for _, g := range groups {
			for _, name := range g.names {
				found[name]++
			}
		}
		return found
	}
	serve := newServe()
	serve.InitDefaultHelpFlag()
	found := count(serveGroups())
	serve.LocalFlags().VisitAll(func(f *pflag.Flag) {
		assert.Equal(t, "--"+f.Name+" groups", found[f.Name], map[bool]int{false: 1}[f.Hidden])
		delete(found, f.Name)
	})
	assert.True(t, len(found) == 0, "groups have flags that pinion serve does not have: %v, want none", found)
	for _, name := range commonFlags() {
		assert.True(t, serve.LocalFlags().Lookup(name) != nil, "pinion serve has no common flag --%s, want non-nil", name)
	}
	found = count(commandGroups())
	for _, c := range newRoot().Commands() {
		want := map[bool]int{false: 1}[c.Hidden]
		assert.True(t, found[c.Name()] == want, "the command %s is in %d groups, want %d", c.Name(), found[c.Name()], want)
	}
}

// TestHelp_EachCommandHasExamples that begin with the command.
func TestHelp_EachCommandHasExamples(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if c.Hidden || c.Name() == "help" || c.Name() == "version" {
			continue
		}
		want := 3
		if c.Name() == "ps" { // has a single flag
			want = 2
		}
		if n := strings.Count(c.Example, "pinion "+c.Name()); n < want {
			t.Errorf("pinion %s has %d examples, want %d", c.Name(), n, want)
		}
	}
}

// TestHelp_NamesAPageOfTheDocuments that exists, for each command.
func TestHelp_NamesAPageOfTheDocuments(t *testing.T) {
	var see func(*cobra.Command)
	see = func(cmd *cobra.Command) {
		page := version.DocsPage(docsOf(cmd))
		if _, err := os.Stat(filepath.Join("..", "..", "..", "..", page)); err != nil {
			t.Errorf("the help of %s names a page that is not there: got %v, want no error", cmd.CommandPath(), err)
		}
		for _, below := range cmd.Commands() {
			see(below)
		}
	}
	see(newRoot())
}
