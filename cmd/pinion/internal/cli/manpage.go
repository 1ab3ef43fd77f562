package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/process"
)

// newMan returns the command 'pinion man', which the release calls: it is not listed.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages of all commands into a folder", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("pinion man takes the folder for the pages")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := os.OpenRoot(args[0]) // follows no link of the folder to elsewhere
			if err != nil {
				return process.Failed(err)
			}
			defer dir.Close()
			return process.Failed(writeManPages(cmd.Root(), dir))
		},
	}
}

// writeManPages writes the page of a command, and of those below it.
func writeManPages(cmd *cobra.Command, dir *os.Root) error {
	cmd.InitDefaultHelpFlag()
	name := pageName(cmd) + ".1"
	if err := dir.WriteFile(name, manPage(cmd), 0o644); err != nil {
		return err
	}
	for _, below := range cmd.Commands() {
		if below.Hidden {
			continue
		}
		if err := writeManPages(below, dir); err != nil {
			return err
		}
	}
	return nil
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns a command's page in the language of man.
func manPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s\n", roff(strings.ToUpper(pageName(cmd))), roff("\"Pinion "+version.Pinion+"\""))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	b.WriteString(".SH SYNOPSIS\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "%s\n.br\n", roff(cmd.UseLine()))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "%s [COMMAND]\n", roff(cmd.CommandPath()))
	}
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", roffText(aboutText(cmd)))
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	manCommands(&b, cmd)
	manFlags(&b, "OPTIONS", cmd.LocalFlags())
	manFlags(&b, "OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	var others []string
	if cmd.HasParent() {
		others = append(others, pageName(cmd.Parent()))
	}
	b.WriteString(".SH SEE ALSO\n")
	if len(others) > 0 {
		fmt.Fprintf(&b, "%s(1)\n.PP\n", roff(strings.Join(others, "(1), ")))
	}
	fmt.Fprintf(&b, "%s\n", roff(version.DocsPage(docsOf(cmd))))
	return b.Bytes()
}

func manCommands(b *bytes.Buffer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	for title, commands := range groupedCommands(cmd) {
		if cmd == cmd.Root() {
			fmt.Fprintf(b, ".SS %s\n", roff(title))
		}
		for _, c := range commands {
			fmt.Fprintf(b, ".TP\n%s(1)\n%s\n", roff(pageName(c)), roff(c.Short))
		}
	}
}

func manFlags(b *bytes.Buffer, title string, f *pflag.FlagSet) {
	if !f.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		names := "--" + flag.Name
		if flag.Shorthand != "" {
			names = "-" + flag.Shorthand + ", " + names
		}
		if form := flagForm(flag); form != "" {
			names += " " + form
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", roff(names), roff(flagUsage(flag)))
	})
}

// roffText returns a text whose paragraphs man fills; indented lines stay as they are.
func roffText(text string) string {
	var b strings.Builder
	isFilled := true
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "":
			b.WriteString(".PP\n")
			continue
		case strings.HasPrefix(line, " ") == isFilled:
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[isFilled])
			isFilled = !isFilled
		}
		b.WriteString(roff(line) + "\n")
	}
	if !isFilled {
		b.WriteString(".fi\n")
	}
	return b.String()
}

// roff returns a text as man's language has it: a hyphen is one of the keyboard, and no line begins a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
