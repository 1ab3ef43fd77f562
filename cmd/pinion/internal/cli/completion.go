package cli

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/pyembed/locate"
)

// isCompleting reports whether a shell completes a command line: it runs the command with that word and the line
// after it.
func isCompleting() bool {
	return len(os.Args) > 1 && strings.HasPrefix(os.Args[1], cobra.ShellCompRequestCmd)
}

// completeValues makes shells complete the values of flags, for all commands below one.
func completeValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		setting, is := flag.Value.(*usertext.Setting)
		if !is {
			return
		}
		values := append(setting.Words, setting.Examples...)
		switch {
		case values == nil:
		case setting.IsList():
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, completeList(values))
		default:
			complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete)
		}
	})
	for _, below := range cmd.Commands() {
		completeValues(below)
	}
}

// completeList makes shells complete the next value of a list.
func completeList(values []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) (words []string, _ cobra.ShellCompDirective) {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		given := strings.Split(before, ",")
		for _, value := range values {
			if !slices.Contains(given, value) && (before == "" || value != usertext.None) {
				words = append(words, before+value)
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// completeInputs makes shells complete names and values of the model's inputs. The model is not imported.
func completeInputs(cmd *cobra.Command, flags *model.Flags, train bool, function *string) {
	_ = cmd.RegisterFlagCompletionFunc("input", func(_ *cobra.Command, args []string, begun string) (
		[]string, cobra.ShellCompDirective,
	) {
		f := fieldsOf(flags, folderOf(args), train, *function)
		if f == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		name, value, hasName := strings.Cut(begun, "=")
		if !hasName {
			return suffixed(f.Order, "="), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		if path, isFile := strings.CutPrefix(value, "@"); isFile {
			return completePaths(name+"=@", path), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		var words []string
		for _, value := range f.Choices(name) {
			words = append(words, name+"="+value)
		}
		if words == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	})
}

// completePaths returns the files and folders whose path begins as given, behind a prefix: shells complete whole words
// only.
func completePaths(prefix, begun string) (words []string) {
	dir, name := filepath.Split(begun)
	entries, _ := os.ReadDir(cmp.Or(dir, ".")) // an unreadable folder has nothing to offer
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), name) || name == "" && e.Name()[0] == '.' {
			continue
		}
		word := prefix + dir + e.Name()
		if e.IsDir() {
			word += "/"
		}
		words = append(words, word)
	}
	return words
}

// completeServers makes shells complete the ports of this user's servers on this machine.
func completeServers(_ *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, s := range process.Servers() {
		var names []string
		for _, m := range s.Models {
			names = append(names, m.Name)
		}
		word := s.Address[strings.LastIndexByte(s.Address, ':')+1:]
		if strings.HasPrefix(word, "/") { // a unix socket
			word = strconv.Itoa(s.PID)
		}
		words = append(words, word+"\t"+strings.Join(names, ", "))
	}
	return words, cobra.ShellCompDirectiveDefault
}

func suffixed(words []string, suffix string) (choices []string) {
	for _, w := range words {
		choices = append(choices, w+suffix)
	}
	return choices
}

// fieldsOf returns the inputs of the model in a folder, as its source alone tells them; nil means that it does not tell
// them.
func fieldsOf(flags *model.Flags, dir string, train bool, function string) *inputs.Fields {
	m, err := flags.FindModel(dir)
	if err != nil {
		return nil
	}
	python, _ := locate.Interpreter(flags.Locate(m.Dir))
	document, err := model.ServedDocument(m, python, model.StaticReader(), io.Discard)
	if err == nil && !train {
		document, err = functionOf(document, function)
	}
	if err != nil {
		return nil
	}
	f, err := inputs.ReadFields(document, train || m.Ref == "")
	if err != nil {
		return nil
	}
	return f
}
