package usertext

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// NoVariable is the Variable of a setting that only a flag gives.
const NoVariable = "-"

// A Group is settings that stand together in the help of 'pinion serve'.
type Group string

const (
	GroupModel       Group = "The model"
	GroupWorkers     Group = "Workers"
	GroupPredictions Group = "Predictions"
	GroupAccess      Group = "Addresses and access"
	GroupFiles       Group = "Files and memory"
	GroupJobs        Group = "Job queue"
	GroupLog         Group = "Log and end"
)

// Groups returns the groups in the order of the help.
func Groups() []Group {
	return []Group{GroupModel, GroupWorkers, GroupPredictions, GroupAccess, GroupFiles, GroupJobs, GroupLog}
}

// A Setting is what a user may set by a flag, a variable, or a key of a file, and all that is said about it. It implements
// pflag.Value.
type Setting struct {
	// To holds the value: a *bool, *int, *int64, *string, *[]string or *time.Duration, or a pflag.Value.
	To   any
	Name string // of the flag; "" means there is only a variable
	Help string
	// Init is the value that holds until one is given, of the type that To points to; for a pflag.Value, as text.
	Init  any
	Group Group
	// Variable is the variable's name; "" means it is named after the flag, as PINION_MAX_RSS.
	Variable string
	Default  string // what holds until a value is given, in words; "" means Init says it
	Alone    string // the value of a flag that stands alone; "" means it needs one, unless it is a switch
	Words    []string
	Examples []string // of values, for completion, where Words would be too strict
	Min, Max int64    // of a number or a time; Max 0 means none
	// Parse brings a text, or each of a list, to the form that is used, or says what is wrong with it.
	Parse func(string) (string, error)
	// Idle says why the setting has no effect, as "without --nats"; "" means it has one.
	Idle   func() string
	Short  string // the flag's letter
	Common bool   // the short help has it
	Hidden bool   // no help has it
	IsCogs bool   // an invalid value of the variable is ignored with a warning, as by Cog
	IsRead bool   // the variable is read where the value is used
	IsPath bool   // in a file, a path is relative to the file's folder

	given bool
}

// Set reads the value of a flag or a key.
func (s *Setting) Set(v string) error { return s.read(v, false) }

// read reads a value; of a variable, a time may be a number of seconds, and a list replaces what was there.
func (s *Setting) read(v string, isVariable bool) (err error) {
	if v == "" && s.Init == nil {
		if text, is := s.To.(*string); is {
			*text = "" // as if it were not given
			return nil
		}
	}
	if s.Words != nil && !s.IsList() {
		if err := CheckChoice(v, s.Words...); err != nil {
			return err
		}
	}
	switch to := s.To.(type) {
	case *bool:
		err = ParseBool(to, v)
	case *int:
		var n int64
		if n, err = s.number(v); err == nil {
			*to = int(n)
		}
	case *int64:
		var n int64
		if n, err = s.number(v); err == nil {
			*to = n
		}
	case *time.Duration:
		var d time.Duration
		if d, err = s.time(v, isVariable); err == nil {
			*to = d
		}
	case *string:
		if s.Parse != nil {
			v, err = s.Parse(v)
		}
		if err == nil {
			*to = v
		}
	case *[]string:
		err = s.list(to, v, isVariable)
	case pflag.Value:
		err = to.Set(v)
	}
	s.given = s.given || err == nil
	return err
}

func (s *Setting) number(v string) (int64, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: must be a whole number", v)
	}
	return n, s.within(n)
}

func (s *Setting) time(v string, isVariable bool) (d time.Duration, err error) {
	if isVariable {
		err = ParseSeconds(&d, v)
	} else if d, err = time.ParseDuration(v); err != nil {
		return 0, fmt.Errorf("%q: must be a time with its unit, as 500ms, 30s or 1m30s", v)
	}
	return d, cmp.Or(err, s.within(int64(d)))
}

func (s *Setting) within(n int64) error {
	switch {
	case s.Max != 0 && (n < s.Min || n > s.Max):
		return fmt.Errorf("%s: must be %s to %s", s.text(n), s.text(max(s.Min, 0)), s.text(s.Max))
	case n < s.Min && s.text(1) != "1" && s.Min == 1:
		return fmt.Errorf("%s: must be more than 0", s.text(n))
	case n < s.Min:
		return fmt.Errorf("%s: must be at least %s", s.text(n), s.text(s.Min))
	}
	return nil
}

// text returns a number or a time as it is written.
func (s *Setting) text(n int64) string {
	if _, isTime := s.To.(*time.Duration); isTime && n != 0 {
		return strings.Replace(time.Duration(n).String(), "m0s", "m", 1)
	}
	return strconv.FormatInt(n, 10)
}

// list reads a list with commas. The first value replaces the one that held until then.
func (s *Setting) list(to *[]string, v string, isVariable bool) error {
	var items []string
	for item := range strings.SplitSeq(v, ",") {
		item = strings.TrimSpace(item)
		if s.Words != nil {
			if err := CheckChoice(item, s.Words...); err != nil {
				return err
			}
		}
		if s.Parse != nil {
			parsed, err := s.Parse(item)
			if err != nil {
				return err
			}
			item = parsed
		}
		items = append(items, item)
	}
	if s.given && !isVariable {
		items = slices.Concat(*to, items)
	}
	*to = items
	return nil
}

// String returns the value as the flag takes it.
func (s *Setting) String() string {
	switch to := s.To.(type) {
	case *bool:
		return strconv.FormatBool(*to)
	case *int:
		return strconv.Itoa(*to)
	case *int64:
		return strconv.FormatInt(*to, 10)
	case *time.Duration:
		return to.String()
	case *string:
		return *to
	case *[]string:
		return strings.Join(*to, ",")
	case pflag.Value:
		return to.String()
	}
	return ""
}

// Type returns the word for values of this kind.
func (s *Setting) Type() string {
	switch to := s.To.(type) {
	case *bool:
		return "bool"
	case *int, *int64:
		return "int"
	case *time.Duration:
		return "duration"
	case *string:
		return "string"
	case *[]string:
		return "list"
	case pflag.Value:
		return to.Type()
	}
	return ""
}

// IsList reports whether the value is a list with commas.
func (s *Setting) IsList() bool { return s.Type() == "list" }

// Flag returns the setting as it is written on the command line.
func (s *Setting) Flag() string { return "--" + s.Name }

// Remark returns what stands behind the help: the variable, and what holds until a value is given.
func (s *Setting) Remark() string {
	var remarks []string
	if name := s.VariableName(); name != "" {
		remarks = append(remarks, name)
	}
	if text := s.DefaultText(); text != "" && text != "0" {
		remarks = append(remarks, "default: "+text)
	}
	if remarks == nil {
		return ""
	}
	return " (" + strings.Join(remarks, "; ") + ")"
}

// VariableName returns the name of the variable; "" means there is none.
func (s *Setting) VariableName() string {
	switch s.Variable {
	case "":
		return "PINION_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
	case NoVariable:
		return ""
	}
	return s.Variable
}

// DefaultText returns what holds until a value is given; "" means nothing that is worth a word.
func (s *Setting) DefaultText() string {
	switch value := s.Init.(type) {
	case time.Duration:
		return cmp.Or(s.Default, s.text(int64(value)))
	case []string:
		return cmp.Or(s.Default, strings.Join(value, ", "))
	case int, string:
		return cmp.Or(s.Default, fmt.Sprint(value))
	}
	return s.Default
}

// Settings is a table of settings.
type Settings []Setting

// Bind sets each to what holds until a value is given, and declares its flag.
func (list Settings) Bind(f *pflag.FlagSet) {
	for i := range list {
		s := &list[i]
		switch to := s.To.(type) {
		case *bool:
			*to, _ = s.Init.(bool)
		case *int:
			*to, _ = s.Init.(int)
		case *int64:
			n, _ := s.Init.(int)
			*to = int64(n)
		case *time.Duration:
			*to, _ = s.Init.(time.Duration)
		case *string:
			*to, _ = s.Init.(string)
		case *[]string:
			*to, _ = s.Init.([]string)
		case pflag.Value:
			if text, is := s.Init.(string); is {
				_ = to.Set(text)
			}
		}
		if s.Name == "" {
			continue
		}
		flag := f.VarPF(s, s.Name, s.Short, s.Help)
		flag.Hidden, flag.NoOptDefVal = s.Hidden, s.Alone
		if _, isSwitch := s.To.(*bool); isSwitch {
			flag.NoOptDefVal = "true"
		}
	}
}

// Read sets by their variables what no flag has set, and returns warnings of Cog's variables. A service link of Kubernetes is no
// value.
func (list Settings) Read(f *pflag.FlagSet, env func(string) string) (warnings []string, err error) {
	for i := range list {
		s := &list[i]
		name := s.VariableName()
		if name == "" || s.IsRead || s.Name != "" && f.Changed(s.Name) {
			continue
		}
		v := env(name)
		if v == "" || isServiceLink(name, v) && !s.IsCogs {
			continue
		}
		switch err := s.read(v, true); {
		case err != nil && s.IsCogs:
			warnings = append(warnings, fmt.Sprintf("%s is ignored: %v", name, err))
		case err != nil:
			return warnings, fmt.Errorf("%s: %w", name, err)
		}
	}
	return warnings, nil
}

// Idle returns warnings of flags that are given and have no effect.
func (list Settings) Idle(f *pflag.FlagSet) (warnings []string) {
	for i := range list {
		s := &list[i]
		if s.Idle == nil || !f.Changed(s.Name) {
			continue
		}
		if why := s.Idle(); why != "" {
			warnings = append(warnings, fmt.Sprintf("%s has no effect %s", s.Flag(), why))
		}
	}
	return warnings
}

// Of returns the setting whose value is held by to.
func (list Settings) Of(to any) *Setting {
	i := slices.IndexFunc(list, func(s Setting) bool { return s.To == to })
	return &list[i]
}

// Names returns the names of the flags.
func (list Settings) Names() (names []string) {
	for _, s := range list {
		if s.Name != "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// Given reports whether the value held by to was given, by a flag or a variable.
func (list Settings) Given(to any) bool { return list.Of(to).given }

// isServiceLink reports whether a variable is Kubernetes' for a service of that name: the service pinion-grpc gives each pod of its
// namespace PINION_GRPC_PORT=tcp://10.0.0.7:8001. A variable that the pod itself sets replaces it.
func isServiceLink(name, v string) bool {
	protocol, _, is := strings.Cut(v, "://")
	return is && strings.HasSuffix(name, "_PORT") && slices.Contains([]string{"tcp", "udp", "sctp"}, protocol)
}
