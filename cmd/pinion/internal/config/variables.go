package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/webhook"
)

// Variable is one of our environment variables, and the flag that overrides it.
type Variable struct {
	Flag, Name string
	Set        func(string) error
	words      []string // one of which the value is; nil means any value
}

// webhookSecret returns the variable of the key that signs webhooks.
func webhookSecret(to *webhook.Key) Variable {
	return Variable{Name: "PINION_WEBHOOK_SECRET", Set: func(v string) (err error) {
		*to, err = webhook.ParseKey(v)
		return err
	}}
}

// variable returns the variable of a flag, which is named after it.
func variable(f *pflag.FlagSet, flag string, set func(to pflag.Value, v string) error) Variable {
	to := f.Lookup(flag).Value
	return Variable{
		Flag: flag, Name: "PINION_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")),
		Set: func(v string) error { return set(to, v) },
	}
}

// variablesOf returns the variables of flags whose type says what they may be. A time may be a number of seconds.
func variablesOf(f *pflag.FlagSet, flags ...string) (variables []Variable) {
	for _, flag := range flags {
		variables = append(variables, variable(f, flag, setByType))
	}
	return variables
}

func setByType(to pflag.Value, v string) error {
	switch to.Type() {
	case "bool":
		var on bool
		if err := usertext.ParseBool(&on, v); err != nil {
			return err
		}
	case "duration":
		var d time.Duration
		if err := usertext.ParseSeconds(&d, v); err != nil {
			return err
		}
		v = d.String()
	case "stringSlice":
		return to.(pflag.SliceValue).Replace(strings.Split(v, ","))
	}
	return to.Set(v)
}

// numbers returns the variables of flags that are whole numbers of at least least.
func numbers(f *pflag.FlagSet, least int, flags ...string) (variables []Variable) {
	for _, flag := range flags {
		variables = append(variables, variable(f, flag, func(to pflag.Value, v string) error {
			var n int
			if err := usertext.ParseInt(&n, v, least); err != nil {
				return err
			}
			return to.Set(strconv.Itoa(n))
		}))
	}
	return variables
}

// choice returns the variable of a flag that is one of some words.
func choice(f *pflag.FlagSet, flag string, words ...string) Variable {
	v := variable(f, flag, func(to pflag.Value, v string) error {
		if err := usertext.CheckChoice(v, words...); err != nil {
			return err
		}
		return to.Set(v)
	})
	v.words = words
	return v
}

// ReadVariables sets what no flag has set. An invalid value is an error.
func ReadVariables(f *pflag.FlagSet, env func(string) string, variables []Variable) error {
	for _, o := range variables {
		v := env(o.Name)
		if v == "" || o.Flag != "" && f.Changed(o.Flag) || isServiceLink(o.Name, v) {
			continue
		}
		if err := o.Set(v); err != nil {
			return fmt.Errorf("%s: %w", o.Name, err)
		}
	}
	return nil
}

// isServiceLink reports whether a variable is Kubernetes' for a service of that name: the service pinion-grpc gives
// each pod of its namespace PINION_GRPC_PORT=tcp://10.0.0.7:8001. A variable that the pod itself sets replaces it.
func isServiceLink(name, v string) bool {
	protocol, _, is := strings.Cut(v, "://")
	return is && strings.HasSuffix(name, "_PORT") && slices.Contains([]string{"tcp", "udp", "sctp"}, protocol)
}

// cogVariables reads Cog's variables. An invalid value is ignored with a warning, as Cog does.
type cogVariables struct {
	f        *pflag.FlagSet
	env      func(string) string
	warnings *[]string
}

func (c cogVariables) read(flag, name string, set func(string) error) {
	v := c.env(name)
	if v == "" || flag != "" && c.f.Changed(flag) {
		return
	}
	if err := set(v); err != nil {
		*c.warnings = append(*c.warnings, fmt.Sprintf("%s is ignored: %v", name, err))
	}
}

// FromEnvironment returns what the environment says to a command that has no such flags.
func FromEnvironment(env func(string) string) (*Serve, error) {
	s := &Serve{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.BindFlags(f)
	return s, s.FromEnvironment(f, env)
}
