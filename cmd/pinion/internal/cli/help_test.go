package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/tests/assert"
)

// TestHelp_EachFlagOfServeIsInAGroup, and each command in one.
func TestHelp_EachFlagOfServeIsInAGroup(t *testing.T) {
	newServe().LocalFlags().VisitAll(func(f *pflag.Flag) {
		setting := f.Value.(*usertext.Setting)
		assert.True(t, f.Hidden || slices.Contains(usertext.Groups(), setting.Group), "--%s is in the group %q, want one of %q", f.Name,
			setting.Group, usertext.Groups())
	})
	found := map[string]int{}
	for _, g := range commandGroups() {
		for _, name := range g.names {
			found[name]++
		}
	}
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
