package cli

import (
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/pflag"
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

// endsInVariable matches a usage text whose last remark is the variable of the flag alone.
var endsInVariable = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`\([A-Z_]+(, [a-z]+)?\)$`) })

// flagUsage returns the usage text with the default, which stands beside the variable.
func flagUsage(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	usage = strings.ReplaceAll(usage, "\n", " ")
	value := f.DefValue
	switch value {
	case "", "0", "0s", "false", "[]", "<nil>":
		return usage
	}
	if strings.Contains(usage, "default: ") {
		return usage
	}
	value = strings.ReplaceAll(strings.Trim(value, "[]"), ",", ", ")
	if strings.HasSuffix(value, "m0s") {
		value = strings.TrimSuffix(value, "0s")
	}
	if endsInVariable().MatchString(usage) {
		return strings.TrimSuffix(usage, ")") + "; default: " + value + ")"
	}
	return usage + " (default: " + value + ")"
}
