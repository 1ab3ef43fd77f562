package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/usertext"
)

// flagRows returns the flags of a set as the help lists them.
func flagRows(f *pflag.FlagSet) (rows []helpRow) {
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		label := "      "
		if flag.Shorthand != "" {
			label = "  -" + flag.Shorthand + ", "
		}
		label += "--" + flag.Name
		if form := flagForm(flag); form != "" {
			label += " " + form
		}
		if flag.NoOptDefVal != "" && flag.NoOptDefVal != "true" {
			label += "[=" + flag.NoOptDefVal + "]"
		}
		rows = append(rows, helpRow{label, flagUsage(flag)})
	})
	return rows
}

// flagForm returns the word for the flag's value; "" means it is a switch.
func flagForm(f *pflag.Flag) string {
	form, _ := pflag.UnquoteUsage(f)
	switch form {
	case "stringArray":
		return "string"
	case "strings":
		return "list"
	}
	return form
}

// flagUsage returns the usage text with the default.
func flagUsage(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	if setting, is := f.Value.(*usertext.Setting); is {
		usage += setting.Remark()
	} else if value := f.DefValue; !slices.Contains([]string{"", "0", "0s", "false", "[]", "<nil>"}, value) &&
		!strings.Contains(usage, "default: ") {
		usage += " (default: " + value + ")"
	}
	return strings.ReplaceAll(usage, "\n", " ")
}
