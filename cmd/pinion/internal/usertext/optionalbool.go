package usertext

import "strconv"

// OptionalBool is a switch that may have been left alone. It implements pflag.Value.
type OptionalBool struct{ given, on bool }

// Or returns the switch, or, where it was left alone, the default.
func (b *OptionalBool) Or(byDefault bool) bool {
	if b.given {
		return b.on
	}
	return byDefault
}

func (b *OptionalBool) Set(v string) error {
	b.given = true
	return ParseBool(&b.on, v)
}

// String returns the value; "" where there is none.
func (b *OptionalBool) String() string {
	if !b.given {
		return ""
	}
	return strconv.FormatBool(b.on)
}

func (b *OptionalBool) Type() string { return "bool" }
