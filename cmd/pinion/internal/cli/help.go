package cli

import (
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/usertext"
)

// commandGroups returns the commands as the help lists them. Each command stands in one group.
func commandGroups() []nameGroup {
	return []nameGroup{
		{"Make and try a model", []string{"init", "predict", "train", "python", "schema", "check", "bench", "weights"}},
		{"Serve", []string{"serve", "ps", "stop", "logs", "gateway", "jobs", "batching"}},
		{"Images", []string{"dockerfile", "build", "doctor"}},
		{"Other", []string{"completion", "help", "version"}},
	}
}

// nameGroup is a heading and the names of commands or flags below it.
type nameGroup struct {
	title string
	names []string
}

// printHelp prints a command's help. args are the command's arguments.
func printHelp(cmd *cobra.Command, args []string) {
	w := cmd.OutOrStdout()
	width := terminalWidth()
	fmt.Fprintf(w, "%s\n", wrapText(aboutText(cmd), width))
	if cmd.Example != "" {
		fmt.Fprintf(w, "\n%s\n", cmd.Example)
	}
	fmt.Fprintf(w, "\nUsage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(w, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s [COMMAND]\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(w, "\nAlso called: %s\n", strings.Join(cmd.Aliases, ", "))
	}
	printCommands(w, cmd, width)
	switch local := cmd.LocalFlags(); {
	case cmd.Name() != "serve":
		printFlags(w, "Flags", local, width)
	case asksForAll(args):
		for _, g := range usertext.Groups() {
			printFlags(w, string(g), chosen(local, func(s *usertext.Setting) bool { return s.Group == g }), width)
		}
	default:
		printFlags(w, "Common flags", chosen(local, func(s *usertext.Setting) bool { return s.Common }), width)
		fmt.Fprintln(w, "\n'pinion serve --help all' shows every flag.")
	}
	if cmd.HasParent() {
		printFlags(w, "Flags of every command of "+cmd.Parent().CommandPath(), cmd.InheritedFlags(), width)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n'%s COMMAND --help' explains a command.\n", cmd.CommandPath())
	}
	page := "Manual page: man " + pageName(cmd) + " (Debian package, tarball)"
	fmt.Fprintf(w, "\n%s\n", wrapText(page, width))
	fmt.Fprintf(w, "Documentation: %s\n", version.DocsPage(docsOf(cmd)))
}

// aboutText returns what a command does, in one or more paragraphs.
func aboutText(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return strings.TrimSpace(cmd.Long)
	}
	return cmd.Short + "."
}

// docsOf returns the page of the documents about a command.
func docsOf(cmd *cobra.Command) string {
	for ; cmd.HasParent(); cmd = cmd.Parent() {
		switch cmd.Name() {
		case "serve":
			return "reference/flags"
		case "gateway":
			return "how-to/scale-out"
		case "jobs":
			return "reference/jobs"
		case "batching":
			return "how-to/batching-dropin"
		}
		if cmd.Parent() == cmd.Root() {
			return "reference/cli"
		}
	}
	return "tutorial/quickstart"
}

// printCommands prints the commands below a command, those of pinion in groups.
func printCommands(w io.Writer, cmd *cobra.Command, width int) {
	for title, commands := range groupedCommands(cmd) {
		var rows []helpRow
		for _, c := range commands {
			rows = append(rows, helpRow{fmt.Sprintf("  %-10s", c.Name()), c.Short})
		}
		fmt.Fprintf(w, "\n%s:\n%s", title, rowsText(rows, width))
	}
}

// groupedCommands yields the commands below a command that help lists, in their groups.
func groupedCommands(cmd *cobra.Command) iter.Seq2[string, []*cobra.Command] {
	groups := []nameGroup{{title: "Commands"}}
	for _, c := range cmd.Commands() {
		groups[0].names = append(groups[0].names, c.Name())
	}
	if cmd == cmd.Root() {
		groups = commandGroups()
	}
	return func(yield func(string, []*cobra.Command) bool) {
		for _, g := range groups {
			var listed []*cobra.Command
			for _, name := range g.names {
				for _, c := range cmd.Commands() {
					if c.Name() == name && !c.Hidden {
						listed = append(listed, c)
					}
				}
			}
			if len(listed) > 0 && !yield(g.title, listed) {
				return
			}
		}
	}
}

func printFlags(w io.Writer, title string, f *pflag.FlagSet, width int) {
	if f.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s:\n%s", title, rowsText(flagRows(f), width))
	}
}

// chosen returns the flags whose settings are wanted, in the order of their declaration.
func chosen(of *pflag.FlagSet, wanted func(*usertext.Setting) bool) *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags, of.SortFlags = false, false
	of.VisitAll(func(flag *pflag.Flag) {
		if setting, is := flag.Value.(*usertext.Setting); is && wanted(setting) {
			f.AddFlag(flag)
		}
	})
	of.SortFlags = true
	return f
}

// asksForAll reports whether the word after --help, or the only one, is all.
func asksForAll(args []string) bool {
	if len(args) == 1 && args[0] == "all" { // of 'pinion help serve all'
		return true
	}
	at := slices.IndexFunc(args, func(word string) bool { return word == "--help" || word == "-h" })
	return at+1 < len(args) && args[at+1] == "all"
}

// terminalWidth returns the width of the text on the terminal at stdout; 0 means that stdout is no terminal, and lines
// are not wrapped.
func terminalWidth() int { return min(terminalColumns(), maxTextWidth) }

// terminalColumns returns the width of the terminal at stdout; 0 means that stdout is no terminal.
func terminalColumns() int {
	size, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
